// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/lines.hpp>
#include <optional>
#include <utility>

namespace commensal::guest {

/// The right to be a machine's governor: an flock(2) on FOLDER/governor.lock, which ends with the
/// process however it ends. Thread-safety: none.
class Lock {
 public:
  /// Makes the folder, for this user alone, if it is not there. Nothing if another has the lock.
  /// Errors: kPermissionDenied (the folder is somebody else's, or others may write to it),
  /// kUnavailable.
  static core::Result<std::optional<Lock>> try_take(const core::Path& folder);

 private:
  explicit Lock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

/// Where processes of this user on this machine find each other: $XDG_RUNTIME_DIR/commensal, else
/// /run/commensal if this user may make it, else /tmp/commensal-UID.
core::Path runtime_folder();

/// Where the governor of that folder is spoken to.
inline core::Path socket_of(const core::Path& folder) { return folder / "governor.sock"; }

}  // namespace commensal::guest
