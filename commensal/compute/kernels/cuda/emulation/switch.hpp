// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>

/// How one stack is left for another. The C library's swapcontext asks the kernel for its signal
/// mask every time, which takes twenty times as long as the rest; so only the first entry goes
/// through a ucontext and the others through _setjmp. The sanitizers follow neither by themselves:
/// with them every switch is a swapcontext, announced as they ask for.
namespace commensal::kernels::cuda::emulation {

#if defined(__SANITIZE_ADDRESS__)
#define COMMENSAL_FIBER_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define COMMENSAL_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COMMENSAL_FIBER_ASAN 1
#elif __has_feature(thread_sanitizer)
#define COMMENSAL_FIBER_TSAN 1
#endif
#endif

/// One side of a switch: where it is to go on.
class Context {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Will begin at `entry(high, low)`, halves of `argument`, on the given stack.
  void prepare(void (*entry)(unsigned, unsigned), void* argument, std::byte* stack,
               std::size_t bytes);
  /// Leaves the running side, to be resumed at `from`, for `to`.
  static void change(Context& from, Context& to);
  /// First thing on a new stack: the switch from `from` has been made.
  static void arrived(Context& from);

 private:
  ucontext_t context_{};
  jmp_buf jump_{};
  bool begun_ = true;  // false: `prepare` ran and nobody has been there yet
  // For the sanitizers.
  [[maybe_unused]] const void* stack_ = nullptr;
  [[maybe_unused]] std::size_t bytes_ = 0;
  [[maybe_unused]] void* saved_ = nullptr;
};

}  // namespace commensal::kernels::cuda::emulation
