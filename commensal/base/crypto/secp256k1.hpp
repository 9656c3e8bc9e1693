// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/address.hpp>

namespace commensal::crypto {

// ECDSA over secp256k1 (SEC 2) with recovery, as Ethereum signs: the verifier learns the signer's
// address from digest and signature. Nonces follow RFC 6979: equal inputs give equal signatures.
// Thread-safety: any thread; the library's context never changes after its creation.

using core::Digest;

/// r | s | v, big-endian; v is 27 or 28; s is in the lower half of the group order (EIP-2), so
/// that nobody but the signer can make a second valid signature.
struct Signature {
  std::array<std::uint8_t, 65> bytes{};
  bool operator==(const Signature&) const = default;
};

/// x | y, big-endian, without the 0x04 of the uncompressed form.
struct PublicKey {
  std::array<std::uint8_t, 64> bytes{};
  bool operator==(const PublicKey&) const = default;
};

Address address_of(const PublicKey& key);

/// 32 bytes that leave memory with the object: overwritten when it is destroyed or moved from.
class SecretKey {
 public:
  static SecretKey generate(core::Rng& rng);
  /// Error: kInvalidArgument unless 32 bytes, not zero and below the group order.
  static core::Result<SecretKey> from_bytes(core::ByteView bytes);

  SecretKey(SecretKey&& other) noexcept;
  SecretKey& operator=(SecretKey&& other) noexcept;
  ~SecretKey();

  core::ByteView bytes() const { return bytes_; }
  const PublicKey& public_key() const { return public_key_; }
  const Address& address() const { return address_; }

 private:
  SecretKey() = default;
  void derive();

  std::array<std::uint8_t, 32> bytes_{};
  PublicKey public_key_;  // made once: it costs as much as a signature
  Address address_;
};

/// Precondition: the key has not been moved from.
Signature sign(const SecretKey& key, const Digest& digest);

/// The address whose key signed. Never "false": a signature over another digest recovers another
/// address. Error: kInvalidArgument, by name: v neither 27 nor 28, r or s zero or not below the
/// group order, s in the upper half (malleable), no point with this r.
core::Result<Address> recover(const Digest& digest, const Signature& signature);

}  // namespace commensal::crypto
