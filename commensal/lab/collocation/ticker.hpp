// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace commensal::lab {

/// Calls `work` every `seconds` on a thread of its own, from construction to destruction, and
/// counts the processor time that this takes.
class Ticker {
 public:
  Ticker(double seconds, std::function<void()> work);
  double cpu_s() const { return 1e-9 * static_cast<double>(cpu_ns_.load()); }

 private:
  std::atomic<std::int64_t> cpu_ns_ = 0;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace commensal::lab
