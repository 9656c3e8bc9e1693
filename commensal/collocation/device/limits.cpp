// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/device/kernel_files.hpp>
#include <commensal/collocation/device/limits.hpp>
#include <utility>

namespace commensal::device {
namespace {

constexpr std::size_t kProcessorsMax = 8192;

/// Linux, Documentation/ABI/testing/sysfs-devices-system-cpu: how often a core, or its package, was
/// slowed down by heat. Only some processors have these files.
std::uint64_t times_throttled(const core::Path& processors) {
  std::uint64_t sum = 0;
  for_entries(processors, kProcessorsMax, [&](const core::Path& one) {
    const core::Path folder = one / "thermal_throttle";
    sum += number_in(folder / "core_throttle_count").value_or(0);
    sum += number_in(folder / "package_throttle_count").value_or(0);
  });
  return sum;
}

}  // namespace

Limits::Limits(std::unique_ptr<Gpus> gpus, core::Path processors)
    : gpus_(std::move(gpus)), processors_(std::move(processors)) {
  (void)holds_processors();
}

bool Limits::are_on() {
  const bool are_processors = holds_processors();  // always looked at: it counts from look to look
  return holds_gpus() || are_processors;
}

bool Limits::holds_gpus() const {
  if (!gpus_) return false;
  for (unsigned i = 0; i < gpus_->count(); ++i) {
    if (gpus_->is_limited(i)) return true;
  }
  return false;
}

bool Limits::holds_processors() {
  if (processors_.empty()) return false;
  // A processor that is taken out of the system takes its count with it.
  const std::uint64_t before = std::exchange(throttled_, times_throttled(processors_));
  return throttled_ > before;
}

}  // namespace commensal::device
