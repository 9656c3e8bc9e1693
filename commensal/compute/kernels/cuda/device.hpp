// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/kernels/cuda/tasks.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <memory>
#include <span>
#include <string>

/// Where cuda/ kernels run: a card, through a plug-in that is loaded at run time, or the emulation.
namespace commensal::kernels::cuda {

/// Thread-safety: one thread.
class Device {
 public:
  /// The kernels on this CPU, threads in an order drawn from the seed (emulation/machine.hpp).
  static Device emulated(std::uint64_t seed);
  /// The first card. Errors: kUnavailable where there is no driver, no card or no such plug-in,
  /// kFailedPrecondition for a plug-in of another version.
  static core::Result<Device> card(const std::string& plugin);

  /// "NVIDIA H200"
  std::string name() const { return driver_->name(queue_.get()); }

  /// Uninitialised memory of the device. Error: kResourceExhausted.
  core::Result<std::shared_ptr<float>> floats(std::int64_t count);
  core::Result<std::shared_ptr<float>> upload(const tensor::Tensor& from);
  core::Result<std::shared_ptr<std::int64_t>> upload(std::span<const std::int64_t> from);
  /// Waits for all that was launched. Error: kInternal with what any of it did wrong.
  core::Result<void> download(const float* from, tensor::Tensor& to);

  /// Appends a task, as in run(&Driver::softmax, task).
  template <class Task>
  void run(void (*Driver::*kernel)(Queue&, const Task&), const Task& task) {
    (driver_->*kernel)(*queue_, task);
  }

 private:
  Device(const Driver* driver, std::uint64_t seed);
  core::Result<std::shared_ptr<void>> allocate(std::int64_t bytes);

  const Driver* driver_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace commensal::kernels::cuda
