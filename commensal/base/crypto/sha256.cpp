// SPDX-License-Identifier: Apache-2.0
// The low-level calls of OpenSSL are deprecated in favour of EVP, but EVP costs an allocation and
// a look-up for each hash, several times the hash of a Merkle node. Both end in the same code
// (SHA extensions where the processor has them).
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <new>
#include <type_traits>

namespace commensal::crypto {
namespace {

SHA256_CTX* context(std::byte* state) { return std::launder(reinterpret_cast<SHA256_CTX*>(state)); }

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof(SHA256_CTX) <= kStateBytes && alignof(SHA256_CTX) <= 8);
  static_assert(std::is_trivially_copyable_v<SHA256_CTX>);
  new (state_.data()) SHA256_CTX;
  restart();
}

void Sha256::restart() {
  core::check(SHA256_Init(context(state_.data())) == 1, "SHA256_Init failed");
}

Sha256& Sha256::update(ByteView bytes) {
  core::check(SHA256_Update(context(state_.data()), bytes.data(), bytes.size()) == 1,
              "SHA256_Update failed");
  return *this;
}

Digest Sha256::finish() {
  Digest digest;
  core::check(SHA256_Final(digest.data(), context(state_.data())) == 1, "SHA256_Final failed");
  restart();
  return digest;
}

Digest sha256(ByteView bytes) { return Sha256().update(bytes).finish(); }

Sha256 begin_tagged_hash(std::string_view tag) {
  core::check(!tag.empty() && tag.size() <= 255, "a tag has 1 to 255 bytes");
  const auto length = static_cast<std::uint8_t>(tag.size());
  Sha256 hash;
  hash.update({&length, 1}).update(core::as_bytes(tag));
  return hash;
}

}  // namespace commensal::crypto
