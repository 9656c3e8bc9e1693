// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/device/gpu.hpp>
#include <commensal/collocation/machine/limited_probe.hpp>
#include <utility>

namespace commensal::machine {
namespace {

class LimitedProbe final : public probe::Probe {
 public:
  LimitedProbe(std::unique_ptr<probe::Probe> probe, device::Limits limits)
      : probe_(std::move(probe)), limits_(std::move(limits)) {}

  const probe::Traits& traits() const override { return probe_->traits(); }
  probe::Sample sample() override {
    probe::Sample made = probe_->sample();
    made.is_limited = limits_.are_on();
    return made;
  }

 private:
  std::unique_ptr<probe::Probe> probe_;
  device::Limits limits_;
};

}  // namespace

std::unique_ptr<probe::Probe> with_limits(std::unique_ptr<probe::Probe> probe,
                                          device::Limits limits) {
  return std::make_unique<LimitedProbe>(std::move(probe), std::move(limits));
}

device::Limits limits_of(probe::Device device) {
  std::unique_ptr<device::Gpus> gpus;
  if (device != probe::Device::kProcessors) {
    if (auto opened = device::open_nvml()) gpus = std::move(*opened);
  }
  const bool has_processors = device != probe::Device::kGpu;
  return {std::move(gpus), has_processors ? device::kProcessorsFolder : ""};
}

}  // namespace commensal::machine
