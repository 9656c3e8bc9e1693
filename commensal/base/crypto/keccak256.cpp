// SPDX-License-Identifier: Apache-2.0
#include <cryptopp/keccak.h>

#include <commensal/base/crypto/keccak256.hpp>

namespace commensal::crypto {

core::Digest keccak256(core::ByteView bytes) {
  core::Digest digest;
  CryptoPP::Keccak_256 hash;
  hash.Update(bytes.data(), bytes.size());
  hash.Final(digest.data());
  return digest;
}

}  // namespace commensal::crypto
