// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <functional>
#include <memory>

namespace commensal::store {

/// Where a daemon's key comes from, given its folder. Called with the folder locked.
using KeyOpener = std::function<core::Result<crypto::SecretKey>(const core::Path& folder)>;

/// What a daemon keeps on disk: its folder (made on the first start, its owner's alone), its key
/// and its store (FOLDER/state.sqlite). The folder is locked as long as the object lives: two
/// daemons on one folder would spoil each other. The store belongs to the first key and role that
/// it was opened with.
/// A store that lies elsewhere has one writer by itself: then the folder is not locked, as a daemon
/// that was asleep may still have it, and a file says for good where its state is.
class StateFolder {
 public:
  /// Without `open_key` the key lies in FOLDER/key, 64 hexadecimal digits, mode 0600, and is made
  /// on the first start. Errors: those of open_key; kFailedPrecondition (another process holds the
  /// folder; another key or role than before; a keystore, but nothing to open it with; files of
  /// something else; state in another place; may_make_key()), kInvalidArgument (the key file is not
  /// a key), kDataLoss, kPermissionDenied.
  static core::Result<StateFolder> open(const core::Path& path, std::string_view role,
                                        core::Rng& rng, const KeyOpener& open_key = {},
                                        std::shared_ptr<core::Store> elsewhere = nullptr);
  /// Whether a folder where the key's file `missing` is not there may be given a new key: not where
  /// its store belongs to one already. Errors: kFailedPrecondition, the store's.
  static core::Result<void> may_make_key(const core::Path& path, const core::Path& missing);
  /// For who only reads its store. Errors: kFailedPrecondition (another role), the store's.
  static core::Result<void> check_role(core::Store& store, const core::Path& path,
                                       std::string_view role);
  /// The keystore of a folder whose key is locked.
  static core::Path keystore_in(const core::Path& path) { return path / "keystore.json"; }
  static core::Path plain_key_in(const core::Path& path) { return path / "key"; }

  const core::Path& path() const { return path_; }
  const crypto::SecretKey& key() const { return key_; }
  core::Store& store() const { return *store_; }

 private:
  StateFolder(core::Path path, std::shared_ptr<const void> lock, crypto::SecretKey key,
              std::shared_ptr<core::Store> store);

  core::Path path_;
  std::shared_ptr<const void> lock_;
  crypto::SecretKey key_;
  std::shared_ptr<core::Store> store_;
};

}  // namespace commensal::store
