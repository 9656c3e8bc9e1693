// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/collocation/probe/sample.hpp>
#include <map>
#include <optional>

namespace commensal::probe {

/// Reads what a process did from the kernel (Documentation/scheduler/sched-stats), by threads:
/// /proc/PID/schedstat is of the first thread only. What ended threads had is kept; what they did
/// after the last look is counted as run time, to a few hundredths of a second, and their last wait
/// is not. Not thread-safe.
class HostTime {
 public:
  HostTime(const core::Path& proc, int pid);

  /// Error: kUnavailable (it has ended, or another has its number now), kDataLoss.
  core::Result<HostSeconds> read();
  /// False: waits are not accounted for, as far as was seen, and run time is told in ticks.
  bool has_waits() const { return has_waits_; }

 private:
  struct Thread {
    std::uint64_t run_ns = 0;
    std::uint64_t wait_ns = 0;
  };

  void add_threads(bool is_first);

  core::Path folder_;
  int pid_;
  double ticks_per_s_;
  std::optional<std::uint64_t> started_{};
  bool has_waits_ = false;
  double run_s_ = 0;
  double wait_s_ = 0;
  std::map<int, Thread> threads_;
};

/// The process of this machine that listens at a TCP port of `host`, an address of loopback. None:
/// there is none, or it is another user's, or it hardly works: who passes on what others say is no
/// host. Looks at all processes.
std::optional<int> busy_listener_at(const core::Path& proc, std::string_view host,
                                    std::uint16_t port);

}  // namespace commensal::probe
