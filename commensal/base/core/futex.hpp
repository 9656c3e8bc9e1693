// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

/// Waiting for a word in memory that processes share, which std::atomic::wait does not do.
/// Thread-safety: any thread of any process.
namespace commensal::core {

/// Sleeps while `word` is `value`, and at most `wait_ns` (negative: for ever); may return early.
/// The memory need only be readable.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::int64_t wait_ns = -1);
void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace commensal::core
