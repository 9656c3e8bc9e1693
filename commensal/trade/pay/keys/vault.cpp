// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>

#include <commensal/trade/pay/keys/vault.hpp>

namespace commensal::keys {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using crypto::SecretKey;

constexpr unsigned kOwnerOnly = 0600;

bool is_there(const core::Path& file) {
  std::error_code failed;
  return std::filesystem::exists(file, failed);
}

Result<void> remove_file(const core::Path& file) {
  std::error_code failed;
  std::filesystem::remove(file, failed);
  if (!failed) return {};
  return fail(ErrorCode::kPermissionDenied, "cannot remove '{}': {}", file.string(),
              failed.message());
}

}  // namespace

Result<SecretKey> unlock_file(const core::Path& keystore, const Password& password) {
  COMMENSAL_ASSIGN(const core::Bytes text, core::read_file(keystore, limits::kKeyFileBytesMax));
  auto key = unlock(core::as_text(text), password);
  if (!key) return core::in_context(keystore.string(), key.error());
  return key;
}

Result<void> lock_file(const core::Path& keystore, const SecretKey& key, const Password& password,
                       core::Rng& rng, Cost cost) {
  if (is_there(keystore)) {
    return fail(ErrorCode::kAlreadyExists, "'{}' is there already", keystore.string());
  }
  const std::string text = lock(key, password, rng, cost);
  return core::write_file_atomically(keystore, core::as_bytes(text), kOwnerOnly);
}

Result<SecretKey> read_plain_key(const core::Path& file) {
  COMMENSAL_ASSIGN(core::Bytes text, core::read_file(file, limits::kKeyFileBytesMax));
  std::string_view digits = core::as_text(text);
  while (digits.ends_with('\n')) digits.remove_suffix(1);
  auto bytes = core::digest_from_hex(digits);
  OPENSSL_cleanse(text.data(), text.size());
  if (!bytes) {
    return fail(ErrorCode::kInvalidArgument, "'{}' is not a key: {}", file.string(),
                bytes.error().message);
  }
  auto key = SecretKey::from_bytes(*bytes);
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return key;
}

Result<SecretKey> migrate(const core::Path& plain, const core::Path& keystore,
                          const Password& password, core::Rng& rng, Cost cost) {
  COMMENSAL_ASSIGN(const SecretKey key, read_plain_key(plain));
  if (!is_there(keystore)) COMMENSAL_TRY(lock_file(keystore, key, password, rng, cost));
  COMMENSAL_ASSIGN(SecretKey locked, unlock_file(keystore, password));
  if (!core::equal_in_constant_time(locked.bytes(), key.bytes())) {
    return fail(ErrorCode::kFailedPrecondition,
                "'{}' holds the key of {}, '{}' that of {}: expected the same", plain.string(),
                crypto::to_text(key.address()), keystore.string(),
                crypto::to_text(locked.address()));
  }
  COMMENSAL_TRY(remove_file(plain));
  return locked;
}

Result<SecretKey> open_or_make(const core::Path& plain, const core::Path& keystore,
                               const Password& password, core::Rng& rng, Cost cost) {
  if (is_there(plain)) return migrate(plain, keystore, password, rng, cost);
  if (is_there(keystore)) return unlock_file(keystore, password);
  SecretKey key = SecretKey::generate(rng);
  COMMENSAL_TRY(lock_file(keystore, key, password, rng, cost));
  return key;
}

}  // namespace commensal::keys
