// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/keccak256.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <cstring>
#include <memory>

namespace commensal::crypto {
namespace {

using core::ByteView;
using core::ErrorCode;

constexpr std::uint8_t kRecoveryOffset = 27;  // v = 27 + parity of the nonce point's y

struct ContextDeleter {
  void operator()(secp256k1_context* context) const { secp256k1_context_destroy(context); }
};

/// One for the process, constant once made: the library allows any number of threads to use a
/// const context.
const secp256k1_context* context() {
  static const std::unique_ptr<secp256k1_context, ContextDeleter> made(
      secp256k1_context_create(SECP256K1_CONTEXT_NONE));
  return made.get();
}

/// Half the group order, rounded down: (n - 1) / 2 with n of SEC 2, section 2.4.1.
constexpr std::array<std::uint8_t, 32> kHalfOrder = {
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0};

bool is_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

PublicKey serialise(const secp256k1_pubkey& point) {
  std::array<std::uint8_t, 65> uncompressed;
  std::size_t size = uncompressed.size();
  secp256k1_ec_pubkey_serialize(context(), uncompressed.data(), &size, &point,
                                SECP256K1_EC_UNCOMPRESSED);
  PublicKey key;
  std::copy(uncompressed.begin() + 1, uncompressed.end(), key.bytes.begin());
  return key;
}

core::Result<void> check_form(ByteView r, ByteView s, std::uint8_t v) {
  if (v != kRecoveryOffset && v != kRecoveryOffset + 1) {
    return core::fail(ErrorCode::kInvalidArgument, "signature: v is {}, expected 27 or 28", v);
  }
  if (is_zero(r)) return core::fail(ErrorCode::kInvalidArgument, "signature: r is zero");
  if (is_zero(s)) return core::fail(ErrorCode::kInvalidArgument, "signature: s is zero");
  if (std::lexicographical_compare(kHalfOrder.begin(), kHalfOrder.end(), s.begin(), s.end())) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "signature: s is in the upper half of the group order (malleable)");
  }
  return {};
}

}  // namespace

Address address_of(const PublicKey& key) {
  const Digest hash = keccak256(key.bytes);
  Address address;
  std::copy(hash.end() - 20, hash.end(), address.bytes.begin());
  return address;
}

SecretKey SecretKey::generate(core::Rng& rng) {
  SecretKey key;
  do {
    rng.fill(key.bytes_);
  } while (secp256k1_ec_seckey_verify(context(), key.bytes_.data()) != 1);
  key.derive();
  return key;
}

core::Result<SecretKey> SecretKey::from_bytes(ByteView bytes) {
  SecretKey key;
  if (bytes.size() != key.bytes_.size()) {
    return core::fail(ErrorCode::kInvalidArgument, "a secret key has 32 bytes, found {}",
                      bytes.size());
  }
  std::copy(bytes.begin(), bytes.end(), key.bytes_.begin());
  if (secp256k1_ec_seckey_verify(context(), key.bytes_.data()) != 1) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "a secret key is not zero and below the order of secp256k1");
  }
  key.derive();
  return key;
}

SecretKey::SecretKey(SecretKey&& other) noexcept
    : bytes_(other.bytes_), public_key_(other.public_key_), address_(other.address_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

SecretKey& SecretKey::operator=(SecretKey&& other) noexcept {
  if (this != &other) {
    bytes_ = other.bytes_;
    public_key_ = other.public_key_;
    address_ = other.address_;
    OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
  }
  return *this;
}

SecretKey::~SecretKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

void SecretKey::derive() {
  secp256k1_pubkey point;
  core::check(secp256k1_ec_pubkey_create(context(), &point, bytes_.data()) == 1,
              "a secret key that is in its range");
  public_key_ = serialise(point);
  address_ = address_of(public_key_);
}

Signature sign(const SecretKey& key, const Digest& digest) {
  secp256k1_ecdsa_recoverable_signature raw;
  core::check(secp256k1_ecdsa_sign_recoverable(context(), &raw, digest.data(), key.bytes().data(),
                                               nullptr, nullptr) == 1,
              "a secret key that was moved from");
  Signature signature;
  int recovery = 0;
  secp256k1_ecdsa_recoverable_signature_serialize_compact(context(), signature.bytes.data(),
                                                          &recovery, &raw);
  // 2 and 3 would need a nonce point with x above the group order: one in 2^127.
  core::check(recovery == 0 || recovery == 1, "a signature whose nonce point overflows");
  signature.bytes[64] = static_cast<std::uint8_t>(kRecoveryOffset + recovery);
  return signature;
}

core::Result<Address> recover(const Digest& digest, const Signature& signature) {
  const ByteView bytes(signature.bytes);
  COMMENSAL_TRY(check_form(bytes.first(32), bytes.subspan(32, 32), bytes[64]));
  secp256k1_ecdsa_recoverable_signature raw;
  if (secp256k1_ecdsa_recoverable_signature_parse_compact(context(), &raw, bytes.data(),
                                                          bytes[64] - kRecoveryOffset) != 1) {
    return core::fail(ErrorCode::kInvalidArgument, "signature: r is not below the group order");
  }
  secp256k1_pubkey point;
  if (secp256k1_ecdsa_recover(context(), &point, &raw, digest.data()) != 1) {
    return core::fail(ErrorCode::kInvalidArgument, "signature: no public key matches r");
  }
  return address_of(serialise(point));
}

}  // namespace commensal::crypto
