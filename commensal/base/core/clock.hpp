// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace commensal::core {

/// Time, injected. Nothing outside its implementations asks the system for the time.
/// Thread-safety: implementations may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back; the zero is arbitrary.
  virtual std::int64_t monotonic_ns() const = 0;
  /// Milliseconds since 1970-01-01 UTC; may jump.
  virtual std::int64_t wall_ms() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override;
  std::int64_t wall_ms() const override;
};

/// A clock that moves only when told to. Not thread-safe.
class ManualClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_ns_; }
  std::int64_t wall_ms() const override { return now_ns_ / 1'000'000; }
  void advance_ms(std::int64_t ms) { now_ns_ += ms * 1'000'000; }

 private:
  std::int64_t now_ns_ = 0;
};

}  // namespace commensal::core
