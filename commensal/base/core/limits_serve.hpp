// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>

/// Bounds of what a daemon holds of its connections.
namespace commensal::limits {

inline constexpr std::int64_t kHttpLingerBytesMax = 8
                                                    << 20;  // read and thrown away after a refusal
inline constexpr std::uint64_t kHttpReserveBytesMax = 64 << 20;  // of a body, before it arrives
inline constexpr std::int64_t kRpcOutboxBytesMax = 2 * kRpcMessageBytesMax;  // of one stream
inline constexpr std::size_t kLineBytesMax = 512;  // of a message; gRPC puts some into headers

}  // namespace commensal::limits
