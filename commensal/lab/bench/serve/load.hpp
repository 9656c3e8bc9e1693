// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/result.hpp>
#include <memory>
#include <string>
#include <vector>

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

/// A client that always has so many requests under way, and looks at no more than the status of an
/// answer. Thread-safety: the owner's thread.
class Load {
 public:
  virtual ~Load() = default;
  /// For so long. Error: kUnavailable (a request that fails).
  virtual core::Result<Loaded> run(std::size_t concurrency, std::int64_t ms) = 0;
};

/// Of one unary gRPC method, over a few connections.
std::unique_ptr<Load> grpc_load(Question question, const core::Clock& clock);

/// Of one HTTP request, a connection that is kept for each under way. `request` is whole, as it
/// lies on the wire. Only answers with Content-Length are understood.
std::unique_ptr<Load> http_load(const std::string& address, std::string request,
                                const core::Clock& clock);

/// What the latencies of requests (ns) come to.
Loaded loaded_of(const std::vector<std::int64_t>& took_ns, double seconds,
                 std::size_t answer_bytes);

}  // namespace commensal::lab::bench::serve
