// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/collocation/probe/gpu.hpp>
#include <commensal/collocation/probe/probe.hpp>

namespace commensal::probe {

/// Whether power or heat holds back what a host works on. Of processors only heat counts: that they
/// stay within their power is how they run, and shows in the host's rate. Not thread-safe.
class ThrottleMonitor {
 public:
  /// `gpus`: none if null. `processors`: the kernel's folder of them; none if empty.
  ThrottleMonitor(std::unique_ptr<Gpus> gpus, core::Path processors);

  /// Of GPUs now; of processors since the look before.
  bool is_on();

 private:
  bool holds_gpus() const;
  bool holds_processors();

  std::unique_ptr<Gpus> gpus_;
  core::Path processors_;
  std::uint64_t throttled_ = 0;  // how often so far
};

/// Of the devices of this machine that such a host works on: all of them where the kind of its
/// probe does not tell which.
ThrottleMonitor monitor_of(Device device);

/// `probe`, whose samples tell besides what `monitor` does.
std::unique_ptr<Probe> with_monitor(std::unique_ptr<Probe> probe, ThrottleMonitor monitor);

}  // namespace commensal::probe
