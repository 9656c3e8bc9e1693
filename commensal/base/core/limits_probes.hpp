// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what probes read of other people's programs.
namespace commensal::limits {

inline constexpr std::size_t kProbeSpecBytesMax = 1024;
inline constexpr std::size_t kProbeBodyBytesMax = 1 << 20;  // of one answer
inline constexpr int kProbeJsonDepthMax = 32;
inline constexpr std::int64_t kProbeWaitMs = 2'000;  // for one answer, from the first step on
inline constexpr double kProbeFigureMax = 1e18;      // hashes, bytes: more is no figure
inline constexpr std::size_t kProbeDevicesMax = 1024;
inline constexpr std::size_t kProbePatternBytesMax = 256;
inline constexpr std::size_t kProbeLineBytesMax = 4096;  // of a log; the rest of a line is skipped
inline constexpr std::size_t kProbeLogBytesMax = 1 << 20;  // of a log, that one sample reads
inline constexpr std::size_t kProbeCounterBytesMax = 64;
inline constexpr std::size_t kProbeProcessesMax = 1 << 16;  // that discovery looks at

}  // namespace commensal::limits
