// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <commensal/compute/kernels/cuda/device.hpp>
#include <commensal/compute/kernels/cuda/emulated.hpp>

namespace commensal::kernels::cuda {

using core::ErrorCode;
using core::fail;

Device::Device(const Driver* driver, std::uint64_t seed)
    : driver_(driver), queue_(driver->open(seed), driver->close) {}

Device Device::emulated(std::uint64_t seed) { return {&emulated_driver(), seed}; }

core::Result<Device> Device::card(const std::string& plugin) {
  // NVIDIA's driver comes with this library: without it there is no need to look further.
  if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
    return fail(ErrorCode::kUnavailable, "no NVIDIA driver: libcuda.so.1 cannot be loaded");
  }
  // Never closed: the driver's own threads may be in it until the end.
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorCode::kUnavailable, "the CUDA plug-in cannot be loaded: {}", dlerror());
  }
  void* const symbol = dlsym(library, kDriverSymbol);
  if (symbol == nullptr) {
    return fail(ErrorCode::kFailedPrecondition, "{} has no symbol {}", plugin, kDriverSymbol);
  }
  const Driver* const driver = reinterpret_cast<const Driver* (*)()>(symbol)();
  if (driver->version != Driver::kVersion) {
    return fail(ErrorCode::kFailedPrecondition, "{} is of version {}, expected {}", plugin,
                driver->version, Driver::kVersion);
  }
  Device device(driver, 0);
  if (const char* error = driver->error(device.queue_.get()); error != nullptr) {
    return fail(ErrorCode::kUnavailable, "no CUDA device: {}", error);
  }
  return device;
}

core::Result<std::shared_ptr<void>> Device::allocate(std::int64_t bytes) {
  const auto some = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* const memory = driver_->allocate(queue_.get(), some);
  if (memory == nullptr) {
    return fail(ErrorCode::kResourceExhausted, "the device has no {} bytes left", some);
  }
  return std::shared_ptr<void>(
      memory, [queue = queue_, driver = driver_](void* p) { driver->release(queue.get(), p); });
}

core::Result<std::shared_ptr<float>> Device::floats(std::int64_t count) {
  COMMENSAL_ASSIGN(auto memory, allocate(count * std::int64_t{sizeof(float)}));
  return std::static_pointer_cast<float>(memory);
}

core::Result<std::shared_ptr<float>> Device::upload(const tensor::Tensor& from) {
  const auto data = from.data<float>();
  COMMENSAL_ASSIGN(auto made, floats(from.elements()));
  driver_->upload(queue_.get(), made.get(), data.data(), data.size_bytes());
  return made;
}

core::Result<std::shared_ptr<std::int64_t>> Device::upload(std::span<const std::int64_t> from) {
  COMMENSAL_ASSIGN(auto memory, allocate(static_cast<std::int64_t>(from.size_bytes())));
  driver_->upload(queue_.get(), memory.get(), from.data(), from.size_bytes());
  return std::static_pointer_cast<std::int64_t>(memory);
}

core::Result<void> Device::download(const float* from, tensor::Tensor& to) {
  const auto data = to.mutable_data<float>();
  driver_->download(queue_.get(), data.data(), from, data.size_bytes());
  if (const char* error = driver_->error(queue_.get()); error != nullptr) {
    return fail(ErrorCode::kInternal, "a CUDA kernel failed: {}", error);
  }
  return {};
}

}  // namespace commensal::kernels::cuda
