// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/state_folder.hpp>

namespace commensal::store {
namespace {

using core::ErrorCode;
using core::fail;

core::Result<void> make_folder(const core::Path& path) {
  std::error_code failed;
  const bool is_new = std::filesystem::create_directories(path, failed);
  if (!failed && is_new) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, failed);
  }
  if (!failed) return {};
  return fail(ErrorCode::kDataLoss, "cannot create the folder '{}': {}", path.string(),
              failed.message());
}

core::Result<std::shared_ptr<const void>> lock_folder(const core::Path& path) {
  const core::Path file = path / "lock";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(ErrorCode::kPermissionDenied, "cannot write in the folder '{}'", path.string());
  }
  std::shared_ptr<const void> lock(new int(fd), [](const int* held) {
    ::close(*held);
    delete held;
  });
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kFailedPrecondition, "the folder '{}' is in use by another process",
                path.string());
  }
  return lock;
}

core::Result<crypto::SecretKey> load_or_make_key(const core::Path& folder, core::Rng& rng) {
  const core::Path file = StateFolder::plain_key_in(folder);
  const core::Path keystore = StateFolder::keystore_in(folder);
  if (std::filesystem::exists(keystore)) {
    return fail(ErrorCode::kFailedPrecondition, "the key in '{}' is locked: expected a password",
                keystore.string());
  }
  const auto text = core::read_file(file, 4096);
  if (!text && text.error().code != ErrorCode::kNotFound) return tl::unexpected(text.error());
  if (!text) {
    crypto::SecretKey key = crypto::SecretKey::generate(rng);
    const std::string written = core::to_hex(key.bytes()) + "\n";
    COMMENSAL_TRY(core::write_file_atomically(file, core::as_bytes(written), 0600));
    return key;
  }
  std::string_view digits = core::as_text(*text);
  while (!digits.empty() && digits.back() == '\n') digits.remove_suffix(1);
  const auto bytes = core::digest_from_hex(digits);
  if (!bytes) {
    return fail(ErrorCode::kInvalidArgument, "'{}' is not a key: {}", file.string(),
                bytes.error().message);
  }
  return crypto::SecretKey::from_bytes(*bytes);
}

/// Receipts and claims are of use to the key that signed them only, and a gateway's to no provider.
core::Result<void> expect(core::Store& store, const core::Path& folder, std::string_view what,
                          std::string_view now) {
  constexpr std::string_view kSpace = "folder";
  COMMENSAL_ASSIGN(const auto before, store.get(kSpace, core::as_bytes(what)));
  if (!before) {
    const auto key = core::as_bytes(what), value = core::as_bytes(now);
    return store.apply({{std::string(kSpace), core::Bytes(key.begin(), key.end()),
                         core::Bytes(value.begin(), value.end())}});
  }
  if (core::as_text(*before) == now) return {};
  return fail(ErrorCode::kFailedPrecondition, "the folder '{}' has the {} {}, expected {}",
              folder.string(), what, core::as_text(*before), now);
}

}  // namespace

StateFolder::StateFolder(core::Path path, std::shared_ptr<const void> lock, crypto::SecretKey key,
                         std::unique_ptr<core::Store> store)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      key_(std::move(key)),
      store_(std::move(store)) {}

core::Result<StateFolder> StateFolder::open(const core::Path& path, std::string_view role,
                                            core::Rng& rng, const KeyOpener& open_key) {
  COMMENSAL_TRY(make_folder(path));
  COMMENSAL_ASSIGN(auto lock, lock_folder(path));
  COMMENSAL_ASSIGN(auto key, open_key ? open_key(path) : load_or_make_key(path, rng));
  COMMENSAL_ASSIGN(auto store, open_sqlite_store(path / "state.sqlite"));
  COMMENSAL_TRY(expect(*store, path, "role", role));
  COMMENSAL_TRY(expect(*store, path, "owner", crypto::to_text(key.address())));
  return StateFolder(path, std::move(lock), std::move(key), std::move(store));
}

}  // namespace commensal::store
