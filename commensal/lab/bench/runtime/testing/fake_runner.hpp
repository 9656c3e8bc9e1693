// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/runtime/runner.hpp>
#include <functional>
#include <string>
#include <utility>

namespace commensal::lab::bench::testing {

/// Answers lines by a function; needs a thousand bytes more with every line.
class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(std::function<std::string(const std::string&)> answer)
      : answer_(std::move(answer)) {}
  core::Result<std::string> ask(const std::string& line) override {
    ++lines_;
    return answer_(line);
  }
  void keep_to_one_cpu(int) override {}
  core::Result<std::int64_t> peak_bytes() const override { return 1000 * lines_; }

 private:
  std::function<std::string(const std::string&)> answer_;
  std::int64_t lines_ = 0;
};

inline Runner fake(std::function<std::string(const std::string&)> answer) {
  return Runner(std::make_unique<FakeChannel>(std::move(answer)));
}

}  // namespace commensal::lab::bench::testing
