// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/crypto/address.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace commensal::crypto {

// EIP-712: typed structured data, hashed for signing so that a contract or a wallet can rebuild
// the same digest. Pure functions.

using core::ByteView;
using core::Digest;

/// Where a signature counts. The chain id 0 stands for the embedded ledger; chain ids fit in 64
/// bits (EIP-2294). Without a contract the field is left out of the type, as EIP-712 asks.
struct Eip712Domain {
  std::string_view name = "Commensal";
  std::string_view version = "1";
  std::uint64_t chain_id = 0;
  std::optional<Address> verifying_contract{};
};

Digest domain_separator(const Eip712Domain& domain);

/// hashStruct: keccak256(keccak256(type) | words...). `type` is the encodeType text, such as
/// "Person(string name,address wallet)", with the types it refers to appended in order; the
/// members follow in the order of the text.
class StructHash {
 public:
  explicit StructHash(std::string_view type);
  StructHash& uint(std::uint64_t value);
  /// bytes32, a uint256 in big-endian order, or the hash of a nested struct.
  StructHash& word(const Digest& value);
  StructHash& address(const Address& value);
  /// bytes and string: their keccak256.
  StructHash& bytes(ByteView value);
  StructHash& text(std::string_view value);
  Digest finish() const;

 private:
  core::Bytes words_;
};

/// keccak256(0x19 0x01 | domain separator | struct hash): what is signed.
Digest typed_digest(const Eip712Domain& domain, const Digest& struct_hash);

}  // namespace commensal::crypto
