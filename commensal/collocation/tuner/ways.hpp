// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string>
#include <vector>

namespace commensal::tuner {

/// One way of running a network beside a host. It changes no bit of an answer.
struct Way {
  int threads = 1;
  int at_once = 1;                // requests that are computed together
  std::vector<int> processors{};  // on which alone, ascending; none: on any

  bool operator==(const Way&) const = default;
};
/// "2 threads, 4 requests at once, on any processor".
std::string words(const Way& way);

/// Those that this thread may use; a container or a service may have a part of the machine's.
std::vector<int> allowed_processors();

/// Sets of `allowed` on which a guest may disturb its host differently: the first hardware thread
/// of each core and the others, and the processors of each last-level cache. None where all are
/// alike, or the kernel does not tell. Source: Documentation/ABI/stable/
/// sysfs-devices-system-cpu.
std::vector<std::vector<int>> placements(const std::vector<int>& allowed,
                                         const core::Path& cpus = "/sys/devices/system/cpu");

/// The present way, and those that differ from it in one thing, at most that many threads and
/// requests at once.
std::vector<Way> ways_beside(const Way& present, int threads_max, int at_once_max,
                             const std::vector<std::vector<int>>& placements);

}  // namespace commensal::tuner
