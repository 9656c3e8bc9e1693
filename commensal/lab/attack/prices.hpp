// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The laboratory's parameters, in units of the ledger. An honest step costs its provider 80 and
/// brings 100; its answer is worth 120 to who asked. What computing costs is stated here, not
/// measured: attacks are about money, and a cheat can have any machine.
namespace commensal::attack::price {

inline constexpr double kPay = 100;      // r: of a step, before the draw
inline constexpr double kStep = 80;      // c: to compute it honestly
inline constexpr double kWorth = 120;    // of a right answer, to who asked
inline constexpr double kGarbage = 1;    // c': to make something up, or to look it up
inline constexpr double kBfloat16 = 40;  // c': in half the memory
inline constexpr double kShorter = 40;   // c': with mantissas cut short
inline constexpr double kSmaller = 20;   // c': with a smaller model

// Of the ledger: a stake is worth forty answers, the least of any offence four.
inline constexpr std::uint64_t kStake = 4000;
inline constexpr std::uint64_t kPenalty = 400;
inline constexpr std::uint64_t kBounty = 400;
inline constexpr std::uint64_t kAuditorFee = 4;
inline constexpr std::uint64_t kBond = 200;          // of who accuses, lost with it
inline constexpr std::uint64_t kAuditorStake = 400;  // of who reports from outside
inline constexpr std::uint64_t kEscrow = 100'000;
inline constexpr std::uint64_t kPenaltyEscrow = 4000;

}  // namespace commensal::attack::price
