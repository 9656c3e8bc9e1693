// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <iterator>

namespace commensal::store {
namespace {

using core::ErrorCode;
using core::fail;

constexpr std::string_view kSpace = "folder";
constexpr std::string_view kRole = "role", kOwner = "owner";

core::Path store_in(const core::Path& path) { return path / "state.sqlite"; }

core::Path note_in(const core::Path& path) { return path / "state.elsewhere"; }

/// What a daemon's folder has in it, or may be given before the first start: a key, a certificate.
bool is_own(const std::string& name) {
  constexpr std::string_view kOwn[] = {"lock",           "key",          "keystore.json",
                                       "state.sqlite",   "tls-cert.pem", "tls-key.pem",
                                       "state.elsewhere"};
  return std::ranges::find(kOwn, name) != std::end(kOwn);
}

/// Of a file system, not of anybody's work.
bool is_system(const std::string& name) { return name.starts_with('.') || name == "lost+found"; }

/// A folder that somebody named by mistake is left alone.
core::Result<void> check_contents(const core::Path& path, std::string_view role) {
  const bool is_told = std::filesystem::exists(store_in(path));  // the store names its role
  if (!is_told && role != "gateway" && std::filesystem::exists(path / "operator.token")) {
    return fail(ErrorCode::kFailedPrecondition, "'{}' is a gateway's folder, not a {}'s",
                path.string(), role);
  }
  std::error_code failed;
  bool is_empty = true;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(path, failed); !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (is_own(name)) return {};
    is_empty = is_empty && is_system(name);
  }
  if (failed) {
    return fail(ErrorCode::kPermissionDenied, "cannot look into the folder '{}': {}", path.string(),
                failed.message());
  }
  if (is_empty) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "'{}' holds other files: expected an empty or new folder, or a {}'s", path.string(),
              role);
}

/// Who forgets once where it is would begin with nothing, and sign a second time for what is drawn.
core::Result<void> check_place(const core::Path& path, bool is_elsewhere) {
  const bool has_store = std::filesystem::exists(store_in(path));
  const bool has_note = std::filesystem::exists(note_in(path));
  if (is_elsewhere && has_store) {
    return fail(ErrorCode::kFailedPrecondition,
                "the folder '{}' has its state in state.sqlite, which is not moved to a database: "
                "expected a new folder",
                path.string());
  }
  if (is_elsewhere || !has_note) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "the state of the folder '{}' is in a database: expected its URL", path.string());
}

core::Result<void> note_place(const core::Path& path) {
  if (std::filesystem::exists(note_in(path))) return {};
  return core::write_file_atomically(note_in(path),
                                     core::as_bytes("The state is in a database.\n"));
}

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
    COMMENSAL_TRY(StateFolder::may_make_key(folder, file));
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

tl::unexpected<core::Error> other(const core::Path& folder, std::string_view what,
                                  std::string_view found, std::string_view expected) {
  return fail(ErrorCode::kFailedPrecondition, "the folder '{}' has the {} {}, expected {}",
              folder.string(), what, found, expected);
}

/// Receipts and claims are of use to the key that signed them only, and a gateway's to no provider.
core::Result<void> expect(core::Store& store, const core::Path& folder, std::string_view what,
                          std::string_view now) {
  COMMENSAL_ASSIGN(const auto before, store.get(kSpace, core::as_bytes(what)));
  if (!before) {
    const auto key = core::as_bytes(what), value = core::as_bytes(now);
    return store.apply({{std::string(kSpace), core::Bytes(key.begin(), key.end()),
                         core::Bytes(value.begin(), value.end())}});
  }
  if (core::as_text(*before) == now) return {};
  return other(folder, what, core::as_text(*before), now);
}

core::Result<void> check_ownerless(core::Store& store, const core::Path& missing) {
  COMMENSAL_ASSIGN(const auto owner, store.get(kSpace, core::as_bytes(kOwner)));
  if (!owner) return {};  // the first start was cut off
  return fail(ErrorCode::kFailedPrecondition,
              "'{}' is missing, and this folder is of {}: put its key back", missing.string(),
              core::as_text(*owner));
}

}  // namespace

StateFolder::StateFolder(core::Path path, std::shared_ptr<const void> lock, crypto::SecretKey key,
                         std::shared_ptr<core::Store> store)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      key_(std::move(key)),
      store_(std::move(store)) {}

core::Result<void> StateFolder::may_make_key(const core::Path& path, const core::Path& missing) {
  if (!std::filesystem::exists(store_in(path))) return {};
  COMMENSAL_ASSIGN(const auto store, open_sqlite_store(store_in(path)));
  return check_ownerless(*store, missing);
}

core::Result<void> StateFolder::check_role(core::Store& store, const core::Path& path,
                                           std::string_view role) {
  COMMENSAL_ASSIGN(const auto found, store.get(kSpace, core::as_bytes(kRole)));
  if (!found || core::as_text(*found) == role) return {};
  return other(path, kRole, core::as_text(*found), role);
}

core::Result<StateFolder> StateFolder::open(const core::Path& path, std::string_view role,
                                            core::Rng& rng, const KeyOpener& open_key,
                                            std::shared_ptr<core::Store> elsewhere) {
  COMMENSAL_TRY(make_folder(path));
  COMMENSAL_TRY(check_contents(path, role));
  COMMENSAL_TRY(check_place(path, elsewhere != nullptr));
  std::shared_ptr<const void> lock;
  if (!elsewhere) {
    COMMENSAL_ASSIGN(lock, lock_folder(path));
  } else if (!open_key && !std::filesystem::exists(plain_key_in(path))) {
    COMMENSAL_TRY(check_ownerless(*elsewhere, plain_key_in(path)));
  }
  COMMENSAL_ASSIGN(auto key, open_key ? open_key(path) : load_or_make_key(path, rng));
  std::shared_ptr<core::Store> store = elsewhere;
  if (!store) {
    COMMENSAL_ASSIGN(store, open_sqlite_store(store_in(path)));
  }
  COMMENSAL_TRY(expect(*store, path, kRole, role));
  COMMENSAL_TRY(expect(*store, path, kOwner, crypto::to_text(key.address())));
  if (elsewhere) COMMENSAL_TRY(note_place(path));
  return StateFolder(path, std::move(lock), std::move(key), std::move(store));
}

}  // namespace commensal::store
