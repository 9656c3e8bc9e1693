// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/collocation/guest/lock.hpp>
#include <cstdlib>
#include <cstring>

namespace commensal::guest {
namespace {

using core::ErrorCode;

core::Result<void> make_own_folder(const core::Path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return core::fail(ErrorCode::kUnavailable, "cannot make {}: {}", folder.string(),
                      std::strerror(errno));
  }
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) ||
      found.st_uid != ::geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return core::fail(ErrorCode::kPermissionDenied,
                      "{} is no folder that only this user may write to", folder.string());
  }
  return {};
}

}  // namespace

core::Result<std::optional<Lock>> Lock::try_take(const core::Path& folder) {
  COMMENSAL_TRY(make_own_folder(folder));
  const core::Path path = folder / "governor.lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    return core::fail(ErrorCode::kUnavailable, "cannot open {}: {}", path.string(),
                      std::strerror(errno));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::optional(Lock(std::move(file)));
  if (errno == EWOULDBLOCK) return std::optional<Lock>();
  return core::fail(ErrorCode::kUnavailable, "cannot lock {}: {}", path.string(),
                    std::strerror(errno));
}

core::Path runtime_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return core::Path(runtime) / "commensal";
  if (::access("/run/commensal", W_OK) == 0 || ::access("/run", W_OK) == 0) return "/run/commensal";
  return fmt::format("/tmp/commensal-{}", ::geteuid());
}

}  // namespace commensal::guest
