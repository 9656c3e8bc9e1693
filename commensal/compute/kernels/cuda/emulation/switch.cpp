// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/cuda/emulation/switch.hpp>
#include <cstdint>

#if defined(COMMENSAL_FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(COMMENSAL_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace commensal::kernels::cuda::emulation {

void Context::prepare(void (*entry)(unsigned, unsigned), void* argument, std::byte* stack,
                      std::size_t bytes) {
  core::check(getcontext(&context_) == 0, "a context can be read");
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(argument));
  // makecontext passes ints: its C prototype has no other way.
  makecontext(&context_, reinterpret_cast<void (*)()>(entry), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  stack_ = stack;
  bytes_ = bytes;
  begun_ = false;
#if defined(COMMENSAL_FIBER_TSAN)
  saved_ = __tsan_create_fiber(0);
#endif
}

#if defined(COMMENSAL_FIBER_ASAN)

Context::~Context() = default;

void Context::change(Context& from, Context& to) {
  __sanitizer_start_switch_fiber(&from.saved_, to.stack_, to.bytes_);
  swapcontext(&from.context_, &to.context_);
  __sanitizer_finish_switch_fiber(from.saved_, &to.stack_, &to.bytes_);
}

void Context::arrived(Context& from) {
  __sanitizer_finish_switch_fiber(nullptr, &from.stack_, &from.bytes_);
}

#elif defined(COMMENSAL_FIBER_TSAN)

Context::~Context() {
  if (stack_ != nullptr) __tsan_destroy_fiber(saved_);
}

void Context::change(Context& from, Context& to) {
  if (from.stack_ == nullptr) from.saved_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.saved_, 0);
  swapcontext(&from.context_, &to.context_);
}

void Context::arrived(Context&) {}

#else

Context::~Context() = default;

void Context::change(Context& from, Context& to) {
  if (_setjmp(from.jump_) != 0) return;  // resumed
  if (to.begun_) _longjmp(to.jump_, 1);
  to.begun_ = true;
  setcontext(&to.context_);
}

void Context::arrived(Context&) {}

#endif

}  // namespace commensal::kernels::cuda::emulation
