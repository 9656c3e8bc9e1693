// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

namespace commensal::client {

/// Asks until somebody is there to answer; one who is away for longer than that by the clock, from
/// when that was first seen, or at `stop`, is given up. Blocks. Errors: those of `ask`, which
/// returns a core::Result.
template <class Ask>
auto ask_again(const core::Clock& clock, std::int64_t away_ms_max, const Ask& ask,
               const std::stop_token& stop = {}) -> decltype(ask()) {
  constexpr int kPauseMs = 200;
  std::optional<std::int64_t> away_ns;
  for (;;) {
    auto answer = ask();
    const bool is_away = !answer && (answer.error().code == core::ErrorCode::kUnavailable ||
                                     answer.error().code == core::ErrorCode::kDeadlineExceeded ||
                                     answer.error().code == core::ErrorCode::kDataLoss);
    if (!is_away || stop.stop_requested()) return answer;
    const std::int64_t now_ns = clock.monotonic_ns();
    if (now_ns - away_ns.value_or(now_ns) >= away_ms_max * 1'000'000) return answer;
    if (!away_ns) away_ns = now_ns;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
  }
}

}  // namespace commensal::client
