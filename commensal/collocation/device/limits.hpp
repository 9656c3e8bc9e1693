// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/collocation/device/gpu.hpp>

namespace commensal::device {

/// Whether power or heat holds back what a host works on. Of processors only heat counts: that they
/// stay within their power is how they run, and shows in the host's rate. Not thread-safe.
class Limits {
 public:
  /// `gpus`: none if null. `processors`: the kernel's folder of them; none if empty.
  Limits(std::unique_ptr<Gpus> gpus, core::Path processors);

  /// Of GPUs now; of processors since the look before.
  bool are_on();

 private:
  bool holds_gpus() const;
  bool holds_processors();

  std::unique_ptr<Gpus> gpus_;
  core::Path processors_;
  std::uint64_t throttled_ = 0;  // how often so far
};

inline constexpr std::string_view kProcessorsFolder = "/sys/devices/system/cpu";

}  // namespace commensal::device
