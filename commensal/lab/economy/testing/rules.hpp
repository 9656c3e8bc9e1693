// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The figures of the month.
namespace commensal::economy::testing {

inline constexpr std::uint64_t kHourMs = 3600 * 1000;
inline constexpr std::uint64_t kRoundMs = 6 * kHourMs;
inline constexpr int kChainDepth = 7;  // 128 rounds: a month has 120

inline constexpr std::uint64_t kOpeningRounds = 8;   // until a winner must be open
inline constexpr std::uint64_t kFace = 1000;         // of a winner
inline constexpr double kWinProbability = 1.0 / 32;  // a ticket is worth 32 units
inline constexpr std::uint64_t kPrice = 40;          // that a consumer pays for an answer
inline constexpr std::uint64_t kWorksOneIn = 2;      // rounds of a pair
inline constexpr std::uint64_t kTicketsMax = 3;      // in such a round, at least one
inline constexpr std::uint64_t kStake = 5000;
inline constexpr std::uint64_t kStakeMin = 1000;  // who has less gets no work
inline constexpr std::uint64_t kEscrow = 100'000;
inline constexpr std::uint64_t kPenaltyEscrow = 20'000;

}  // namespace commensal::economy::testing
