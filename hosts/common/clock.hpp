// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hosts::common {

/// Monotonic nanoseconds since some moment. Programs of hosts/ run in real time only; what they
/// compute from times takes them as arguments. Thread-safety: any thread.
std::int64_t now_ns();

inline double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace hosts::common
