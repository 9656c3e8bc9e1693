// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/store.hpp>
#include <memory>

namespace commensal::store {

/// The twin for one machine: a SQLite database in WAL mode, written through to the disk
/// (synchronous=FULL) before apply() returns. A new file is readable by its owner only. Several
/// processes may open the same file; a writer waits for another one for at most five seconds.
/// Contract and thread-safety: core::Store.
/// Errors of open: kNotFound (no such folder), kPermissionDenied, kFailedPrecondition (a file of
/// something else, or of a newer Commensal), kDataLoss. Beyond core::Store's errors, calls give
/// kUnavailable while another process keeps the file locked.
core::Result<std::unique_ptr<core::Store>> open_sqlite_store(const core::Path& path);

}  // namespace commensal::store
