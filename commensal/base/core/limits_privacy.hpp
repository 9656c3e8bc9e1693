// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what is said about where private data may go: see limits.hpp.
namespace commensal::limits {

inline constexpr std::size_t kPrivacyClassBytesMax = 32;  // of its name
inline constexpr std::size_t kPrivacyStatementsMax = 16;  // that one provider shows
inline constexpr std::size_t kPrivacyAuditorsMax = 256;   // that one gateway believes
inline constexpr std::uint64_t kStatementDaysMax = 400;   // from the day on which it is signed

}  // namespace commensal::limits
