// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/result.hpp>
#include <memory>
#include <string>

namespace commensal::lab::bench::serve {

/// What is asked again and again.
struct Question {
  std::string address;        // "host:port"
  std::string method;         // "/package.Service/Method"
  std::string message;        // as it lies on the wire
  std::string authorization;  // in the metadata, or ""
};

struct Loaded {
  std::size_t answers = 0;
  double seconds = 0;
  double p50_us = 0, p99_us = 0;
  std::size_t answer_bytes = 0;  // of the last one
  double rate() const { return static_cast<double>(answers) / seconds; }
};

/// A client that always has so many calls of one unary gRPC method under way, over a few
/// connections, and looks at no more than the status of an answer.
/// Thread-safety: the owner's thread.
class Load {
 public:
  Load(Question question, const core::Clock& clock);
  ~Load();
  /// For so long. Error: kUnavailable (a call that fails).
  core::Result<Loaded> run(std::size_t concurrency, std::int64_t ms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::lab::bench::serve
