// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <string>
#include <variant>

namespace commensal::keys {

// What turns a password into 32 bytes, slowly. Bounds on both keep a file that somebody else wrote
// from taking all memory or the rest of the day.

/// RFC 7914.
struct Scrypt {
  std::uint64_t n = 1 << 18;
  std::uint64_t r = 8;
  std::uint64_t p = 1;
  core::Bytes salt;
};
/// PBKDF2 of RFC 8018 with HMAC-SHA-256.
struct Pbkdf2 {
  std::uint64_t c = 262144;
  core::Bytes salt;
};
using Kdf = std::variant<Scrypt, Pbkdf2>;

/// Errors: as derive().
core::Result<void> expect_bounded(const Kdf& kdf);

/// Errors: kInvalidArgument (n is no power of two, zeros), kResourceExhausted (beyond limits.hpp).
core::Result<core::Digest> derive(const Kdf& kdf, core::ByteView password);

/// AES-128 in counter mode (NIST SP 800-38A): the same both ways.
core::Bytes aes_128_ctr(core::ByteView key, const std::array<std::uint8_t, 16>& iv,
                        core::ByteView bytes);

}  // namespace commensal::keys
