// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <hosts/common/clock.hpp>

namespace hosts::common {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace hosts::common
