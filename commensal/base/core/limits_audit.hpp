// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Bounds of sublinear audits only, apart from limits.hpp: whoever changes one builds less anew.
namespace commensal::limits {

inline constexpr std::uint64_t kAuditDrawsMax = 256;                 // of each kind, of one audit
inline constexpr std::size_t kAuditListBytesMax = std::size_t{8} << 20;  // operator roots
inline constexpr std::size_t kAuditPartsMax = 1 << 14;                // tensors opened
inline constexpr std::size_t kAuditSiblingsMax = 1 << 20;             // of one of them
inline constexpr std::size_t kAuditOpeningsBytesMax = std::size_t{256} << 20;
inline constexpr std::uint64_t kAuditSteeringLeavesMax = 64;  // of an input that says how
inline constexpr std::int64_t kAuditStepsMax = 1 << 20;       // of one element
inline constexpr std::int64_t kAuditWaitMsMax = std::int64_t{1} << 36;

}  // namespace commensal::limits
