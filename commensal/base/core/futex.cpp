// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <commensal/base/core/futex.hpp>
#include <limits>

namespace commensal::core {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t wait_ns) {
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  const timespec wait{wait_ns / kNsPerS, wait_ns % kNsPerS};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, wait_ns < 0 ? nullptr : &wait, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace commensal::core
