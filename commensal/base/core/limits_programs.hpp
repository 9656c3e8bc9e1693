// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what commands and the laboratory read.
namespace commensal::limits {

inline constexpr std::int64_t kTokenBytesMax = 4096;
inline constexpr std::size_t kPasswordBytesMax = 1024;
inline constexpr std::size_t kBenchAnswerBytesMax = 1 << 24;  // some thousand timings
inline constexpr std::int64_t kSettingsBytesMax = 1 << 16;
inline constexpr std::size_t kHostLineBytesMax = 1 << 16;
inline constexpr std::int64_t kSlicesBytesMax = 64 << 20;  // of a benchmark's run so far
inline constexpr std::int64_t kTraceBytesMax = 256LL << 20;  // of a host, as it was recorded

}  // namespace commensal::limits
