// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <string>
#include <string_view>

namespace commensal::probe {

/// What /proc/PID/stat tells (proc(5)).
struct ProcessStat {
  std::string name;               // as the kernel keeps it, at most 15 characters
  char state = '?';               // 'Z': ended, but not buried
  std::uint64_t cpu_ticks = 0;    // utime + stime
  std::uint64_t start_ticks = 0;  // since the machine's start
};

/// Error: kDataLoss.
core::Result<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace commensal::probe
