// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace commensal::guest {

/// What a guest is to get of its machine.
struct ControlGroupLimits {
  std::int64_t weight = 1;  // of the processors beside other guests: 1 to 10,000
  bool idle = true;         // runs only where nobody outside the group wants to
  std::optional<std::int64_t> memory_bytes_max;  // beyond it the guest is ended, not the host
};

/// A control group of a guest's own (Linux Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/): the host's groups are not touched. Groups of guests that were killed are empty, and
/// removed when the next one is made.
/// Thread-safety: none.
class ControlGroup {
 public:
  /// Below `root` (/sys/fs/cgroup), version 2 where that is mounted, else version 1 with its cpu
  /// and memory hierarchies; the calling process moves into it. Errors: kInvalidArgument (the
  /// limits), kUnavailable (no control groups, or no right to make one): nothing has changed then.
  static core::Result<ControlGroup> enter(const core::Path& root, std::int64_t process,
                                          const ControlGroupLimits& limits);

  int version() const { return version_; }
  /// What could not be set, in words: an old kernel has no cpu.idle, version 1 no idle at all.
  const std::vector<std::string>& missing() const { return missing_; }
  /// Whether the limit of memory that was asked for holds.
  bool limits_memory() const { return limits_memory_; }
  const std::vector<core::Path>& folders() const { return folders_; }

 private:
  ControlGroup() = default;

  int version_ = 0;
  bool limits_memory_ = false;
  std::vector<core::Path> folders_;
  std::vector<std::string> missing_;
};

}  // namespace commensal::guest
