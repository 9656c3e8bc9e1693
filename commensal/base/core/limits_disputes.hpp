// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Bounds of what a ledger keeps of an accusation.
namespace commensal::limits {

inline constexpr std::size_t kCaseReportsMax = 16;
inline constexpr std::size_t kCaseMovesMax = 1 << 12;  // of both sides, while it is disputed

}  // namespace commensal::limits
