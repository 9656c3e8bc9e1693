// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/cuda/emulation/fiber.hpp>
#include <cstdint>
#include <utility>

namespace commensal::kernels::cuda::emulation {

// Not make_unique: it would touch the whole stack.
Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(new std::byte[kStackBytes]) {
  inside_.prepare(enter, this, stack_.get(), kStackBytes);
}

Fiber::~Fiber() = default;

void Fiber::enter(unsigned high, unsigned low) {
  const std::uint64_t address = (std::uint64_t{high} << 32) | low;
  auto* self = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(address));
  Context::arrived(self->outside_);
  self->body_();
  core::check(false, "a fiber's body never returns");
}

void Fiber::resume() { Context::change(outside_, inside_); }
void Fiber::pause() { Context::change(inside_, outside_); }

}  // namespace commensal::kernels::cuda::emulation
