// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>
#include <map>

/// For tests and measurements: people with keys, and signatures that cost nothing.
namespace commensal::ledger::testing {

/// Says who signed without a curve: the address, then a hash of it and the digest. A million
/// transactions take seconds with it; everything else about them is the real thing. Real signatures
/// have tests of their own.
class CheapSignatures final : public Signatures {
 public:
  static crypto::Signature sign(const Address& signer, const Digest& digest) {
    crypto::Signature made;
    const Digest seal = crypto::tagged_hash("commensal/test/signature", signer.bytes, digest);
    std::copy(signer.bytes.begin(), signer.bytes.end(), made.bytes.begin());
    std::copy(seal.begin(), seal.end(), made.bytes.begin() + 20);
    return made;
  }
  core::Result<Address> signer(const Digest& digest,
                               const crypto::Signature& signature) const override {
    Address signer;
    std::copy_n(signature.bytes.begin(), 20, signer.bytes.begin());
    if (sign(signer, digest) == signature) return signer;
    return core::fail(core::ErrorCode::kInvalidArgument, "signature: no public key matches r");
  }
};

/// Somebody with a key that follows from a number.
struct Person {
  crypto::SecretKey key;
  Address address;

  explicit Person(std::uint8_t number)
      : key(*crypto::SecretKey::from_bytes(bytes_of(number))), address(key.address()) {}

 private:
  static core::Bytes bytes_of(std::uint8_t number) {
    core::Bytes bytes(32, 0);
    bytes[0] = 7;
    bytes[31] = number;
    return bytes;
  }
};

/// A transaction of `sender`, not signed.
inline Transaction unsigned_transaction(const Address& operator_address, const State& state,
                                        const Address& sender, Body body) {
  Transaction made;
  made.ledger = operator_address;
  made.sender = sender;
  made.nonce = state.nonces.get(sender);
  made.body = std::move(body);
  return made;
}

}  // namespace commensal::ledger::testing
