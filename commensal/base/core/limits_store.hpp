// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what is said to a database and heard from it: see limits.hpp.
namespace commensal::limits {

// Of one statement: beyond that a batch is several, in one transaction. A message of PostgreSQL's
// has less than 1 GiB, and one value may be kStoreValueBytesMax.
inline constexpr std::size_t kStatementBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kStatementRowsMax = 1 << 14;
inline constexpr int kScanRows = 256;      // that one statement of a scan reads
inline constexpr int kStatementTries = 3;  // each on a new connection
inline constexpr std::size_t kDatabaseMessageBytesMax = 512;
inline constexpr std::int64_t kLeaseMsMin = 100, kLeaseMsMax = 3'600'000;
// A standby goes on waiting while a server that it has spoken to is away so long.
inline constexpr std::int64_t kStandbyAwayMs = 60'000;
inline constexpr std::size_t kWriterAddressesBytesMax = 1024;

}  // namespace commensal::limits
