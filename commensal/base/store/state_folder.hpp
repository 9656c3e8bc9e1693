// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <memory>

namespace commensal::store {

/// What a daemon keeps on disk: its folder (made on the first start, its owner's alone), its key
/// (FOLDER/key, 64 hexadecimal digits, mode 0600) and its store (FOLDER/state.sqlite). The folder
/// is locked as long as the object lives: two daemons on one folder would spoil each other.
class StateFolder {
 public:
  /// Errors: kFailedPrecondition (another process holds the folder), kInvalidArgument (the key
  /// file is not a key), kDataLoss, kPermissionDenied.
  static core::Result<StateFolder> open(const core::Path& path, core::Rng& rng);

  const core::Path& path() const { return path_; }
  const crypto::SecretKey& key() const { return key_; }
  core::Store& store() const { return *store_; }

 private:
  StateFolder(core::Path path, std::shared_ptr<const void> lock, crypto::SecretKey key,
              std::unique_ptr<core::Store> store);

  core::Path path_;
  std::shared_ptr<const void> lock_;
  crypto::SecretKey key_;
  std::unique_ptr<core::Store> store_;
};

}  // namespace commensal::store
