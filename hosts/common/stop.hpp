// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hosts::common {

/// SIGTERM and SIGINT as something to wait for. Make it before any thread: threads inherit that the
/// signals are blocked, so that nobody is interrupted in the middle of something.
class StopSignals {
 public:
  StopSignals();

  /// True as soon as one of the signals has come; false after `wait_ms`. Not thread-safe.
  bool wait(std::int64_t wait_ms);

 private:
  bool came_ = false;
};

}  // namespace hosts::common
