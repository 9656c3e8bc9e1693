// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what is read of hosts, of the kernel and of guests on one machine.
namespace commensal::limits {

inline constexpr std::size_t kProcessStatBytesMax = 4096;  // /proc/PID/stat
inline constexpr std::size_t kProcessStatusBytesMax = std::size_t{1} << 16;
inline constexpr std::size_t kSchedStatBytesMax = 96;  // /proc/PID/task/TID/schedstat
inline constexpr std::size_t kHostThreadsMax = 1 << 14;
inline constexpr std::size_t kProcessFilesMax = 1 << 16;                   // /proc/PID/fd
inline constexpr std::size_t kMachineStatBytesMax = std::size_t{1} << 20;  // a line a processor
inline constexpr std::size_t kKernelNumberBytesMax = 64;
inline constexpr int kProcessorsMax = 1 << 13;                    // as the kernel has them at most
inline constexpr std::size_t kProcessorListBytesMax = 64 * 1024;  // such as 0-3,8
inline constexpr std::uint32_t kProbeHeadBytesMax = 1 << 14;      // of a host's answer over HTTP
inline constexpr std::size_t kMetricsHeadBytesMax = 8 << 10;      // of who asks for our metrics
inline constexpr std::size_t kGuestLineBytesMax = 2048;           // of a guest to its governor
inline constexpr std::size_t kGuestStatusBytesMax = 64 * 1024;    // of the governor
inline constexpr std::size_t kGuestNameBytesMax = 64;
inline constexpr std::size_t kGovernorMemoryBytesMax = 64 * 1024;  // of a host, on disk
inline constexpr std::size_t kChosenWaysMax = 1024;                // on disk, of all hosts
inline constexpr int kRequestsAtOnceMax = 64;                      // of a provider, in one run
inline constexpr std::size_t kChosenWaysBytesMax = std::size_t{16} << 20;

}  // namespace commensal::limits
