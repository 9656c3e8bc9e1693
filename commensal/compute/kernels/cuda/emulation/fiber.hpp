// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/emulation/switch.hpp>
#include <cstddef>
#include <functional>
#include <memory>

/// A function with a stack of its own, which can be left in the middle and resumed there. All
/// fibers and their resumer share one thread of the operating system.
namespace commensal::kernels::cuda::emulation {

class Fiber {
 public:
  /// `body` never returns; it calls `pause` instead.
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body from where it paused to its next pause. Called from outside of it.
  void resume();
  /// Called from inside of the body.
  void pause();

 private:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10;
  static void enter(unsigned high, unsigned low);

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  Context inside_, outside_;
};

}  // namespace commensal::kernels::cuda::emulation
