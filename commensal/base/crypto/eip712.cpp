// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/eip712.hpp>
#include <commensal/base/crypto/keccak256.hpp>

namespace commensal::crypto {

StructHash::StructHash(std::string_view type) { text(type); }

StructHash& StructHash::uint(std::uint64_t value) {
  Digest word{};
  for (std::size_t i = 0; i < 8; ++i) word[31 - i] = static_cast<std::uint8_t>(value >> (8 * i));
  return this->word(word);
}

StructHash& StructHash::word(const Digest& value) {
  words_.insert(words_.end(), value.begin(), value.end());
  return *this;
}

StructHash& StructHash::address(const Address& value) {
  Digest word{};
  std::copy(value.bytes.begin(), value.bytes.end(), word.end() - 20);
  return this->word(word);
}

StructHash& StructHash::bytes(ByteView value) { return word(keccak256(value)); }

StructHash& StructHash::text(std::string_view value) { return bytes(core::as_bytes(value)); }

Digest StructHash::finish() const { return keccak256(words_); }

Digest domain_separator(const Eip712Domain& domain) {
  StructHash hash(domain.verifying_contract
                      ? "EIP712Domain(string name,string version,uint256 chainId,"
                        "address verifyingContract)"
                      : "EIP712Domain(string name,string version,uint256 chainId)");
  hash.text(domain.name).text(domain.version).uint(domain.chain_id);
  if (domain.verifying_contract) hash.address(*domain.verifying_contract);
  return hash.finish();
}

Digest typed_digest(const Eip712Domain& domain, const Digest& struct_hash) {
  core::Bytes message = {0x19, 0x01};
  const Digest separator = domain_separator(domain);
  message.insert(message.end(), separator.begin(), separator.end());
  message.insert(message.end(), struct_hash.begin(), struct_hash.end());
  return keccak256(message);
}

}  // namespace commensal::crypto
