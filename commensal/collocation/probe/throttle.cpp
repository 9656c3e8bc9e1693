// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/probe/kernel_files.hpp>
#include <commensal/collocation/probe/throttle.hpp>
#include <utility>

namespace commensal::probe {
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

class MonitoredProbe final : public Probe {
 public:
  MonitoredProbe(std::unique_ptr<Probe> probe, ThrottleMonitor monitor)
      : probe_(std::move(probe)), monitor_(std::move(monitor)) {}

  const Traits& traits() const override { return probe_->traits(); }
  Sample sample() override {
    Sample made = probe_->sample();
    made.is_throttled = monitor_.is_on();
    return made;
  }

 private:
  std::unique_ptr<Probe> probe_;
  ThrottleMonitor monitor_;
};

}  // namespace

ThrottleMonitor::ThrottleMonitor(std::unique_ptr<Gpus> gpus, core::Path processors)
    : gpus_(std::move(gpus)), processors_(std::move(processors)) {
  (void)holds_processors();
}

bool ThrottleMonitor::is_on() {
  const bool are_processors = holds_processors();  // always looked at: it counts from look to look
  return holds_gpus() || are_processors;
}

bool ThrottleMonitor::holds_gpus() const {
  if (!gpus_) return false;
  for (unsigned i = 0; i < gpus_->count(); ++i) {
    if (gpus_->is_throttled(i)) return true;
  }
  return false;
}

bool ThrottleMonitor::holds_processors() {
  if (processors_.empty()) return false;
  // A processor that is taken out of the system takes its count with it.
  const std::uint64_t before = std::exchange(throttled_, times_throttled(processors_));
  return throttled_ > before;
}

ThrottleMonitor monitor_of(Device device) {
  std::unique_ptr<Gpus> gpus;
  if (device != Device::kProcessors) {
    if (auto opened = open_nvml()) gpus = std::move(*opened);
  }
  const bool has_processors = device != Device::kGpu;
  return {std::move(gpus), has_processors ? "/sys/devices/system/cpu" : ""};
}

std::unique_ptr<Probe> with_monitor(std::unique_ptr<Probe> probe, ThrottleMonitor monitor) {
  return std::make_unique<MonitoredProbe>(std::move(probe), std::move(monitor));
}

}  // namespace commensal::probe
