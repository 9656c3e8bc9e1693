// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/thread_pool.hpp>
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace commensal::kernels {

/// For plain loops, which know no pieces: counts their steps, and yields about once a millisecond.
/// Thread-safety: one thread.
class Pulse {
 public:
  /// Null: there is nobody to yield to.
  explicit Pulse(const ThreadPool* threads = nullptr) : threads_(threads) {}
  /// `steps` more, each of some nanoseconds. Throws Stopped as ThreadPool::yield does.
  void operator()(std::int64_t steps = 1) {
    left_ -= steps;
    if (left_ <= 0) [[unlikely]] beat();
  }
  void operator()(std::size_t steps) { (*this)(static_cast<std::int64_t>(steps)); }
  void operator()(int steps) { (*this)(static_cast<std::int64_t>(steps)); }

 private:
  static constexpr std::int64_t kSteps = 1 << 15;
  void beat() {
    left_ = kSteps;
    if (threads_ != nullptr) threads_->yield();
  }
  const ThreadPool* threads_;
  std::int64_t left_ = kSteps;
};

/// std::memcpy of any size.
inline void copy(Pulse& pulse, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t kPiece = 1 << 16;
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::size_t part = std::min(kPiece, bytes - at);
    std::memcpy(to + at, from + at, part);
    pulse(part / 8);
  }
}

}  // namespace commensal::kernels
