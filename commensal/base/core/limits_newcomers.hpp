// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what is remembered of networks that connections come from: see limits.hpp.
namespace commensal::limits {

// Networks in which somebody has been known so lately come beside those of strangers
// (kNewcomersAllPerSecond), as many a second; so many are remembered.
inline constexpr std::int64_t kNewcomersKnownMs = 600'000;
inline constexpr std::size_t kNewcomersKnownMax = 1024;

}  // namespace commensal::limits
