// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>

#include <apps/common/log.hpp>
#include <commensal/base/core/clock.hpp>
#include <cstdio>

namespace commensal::apps {

void say(std::string_view line) {
  const auto now_s = static_cast<std::time_t>(core::SystemClock().wall_ms() / 1000);
  fmt::print(stderr, "{:%Y-%m-%dT%H:%M:%S}Z {}\n", fmt::gmtime(now_s), line);
}

void say_as_is(std::string_view line) { fmt::print(stderr, "{}\n", line); }

}  // namespace commensal::apps
