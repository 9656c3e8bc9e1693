// SPDX-License-Identifier: Apache-2.0
#include <cryptopp/scrypt.h>
#include <openssl/evp.h>

#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/trade/pay/keys/kdf.hpp>
#include <exception>
#include <memory>

namespace commensal::keys {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;

core::Result<void> bounded(const Scrypt& scrypt) {
  if (scrypt.n < 2 || !std::has_single_bit(scrypt.n) || scrypt.r == 0 || scrypt.p == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "keystore: scrypt: n {}, r {}, p {}; expected n a power of two, r and p 1 or more",
                scrypt.n, scrypt.r, scrypt.p);
  }
  constexpr std::uint64_t kMost = limits::kScryptWorkMax;
  if (scrypt.n > kMost || scrypt.r > kMost / scrypt.n || scrypt.p > kMost / (scrypt.n * scrypt.r)) {
    return fail(ErrorCode::kResourceExhausted,
                "keystore: scrypt: n {} times r {} times p {}, at most {} is accepted", scrypt.n,
                scrypt.r, scrypt.p, kMost);
  }
  return {};
}

core::Result<Digest> run(const Scrypt& scrypt, core::ByteView password) {
  Digest key{};
  // Not OpenSSL's: it insists on RFC 7914's n < 2^(16 r), which a published keystore breaks.
  try {
    CryptoPP::Scrypt().DeriveKey(key.data(), key.size(), password.data(), password.size(),
                                 scrypt.salt.data(), scrypt.salt.size(), scrypt.n, scrypt.r,
                                 scrypt.p);
  } catch (const std::exception& thrown) {  // std::bad_alloc, most likely
    return fail(ErrorCode::kResourceExhausted, "keystore: scrypt: {}", thrown.what());
  }
  return key;
}

core::Result<void> bounded(const Pbkdf2& pbkdf2) {
  if (pbkdf2.c == 0 || pbkdf2.c > limits::kPbkdf2RoundsMax) {
    return fail(ErrorCode::kResourceExhausted, "keystore: pbkdf2: {} rounds, expected 1 to {}",
                pbkdf2.c, limits::kPbkdf2RoundsMax);
  }
  return {};
}

core::Result<Digest> run(const Pbkdf2& pbkdf2, core::ByteView password) {
  Digest key{};
  core::check(PKCS5_PBKDF2_HMAC(reinterpret_cast<const char*>(password.data()),
                                static_cast<int>(password.size()), pbkdf2.salt.data(),
                                static_cast<int>(pbkdf2.salt.size()), static_cast<int>(pbkdf2.c),
                                EVP_sha256(), static_cast<int>(key.size()), key.data()) == 1,
              "PBKDF2 refuses parameters that were checked");
  return key;
}

}  // namespace

core::Result<void> expect_bounded(const Kdf& kdf) {
  return std::visit([](const auto& chosen) { return bounded(chosen); }, kdf);
}

core::Result<Digest> derive(const Kdf& kdf, core::ByteView password) {
  COMMENSAL_TRY(expect_bounded(kdf));
  return std::visit([&](const auto& chosen) { return run(chosen, password); }, kdf);
}

core::Bytes aes_128_ctr(core::ByteView key, const std::array<std::uint8_t, 16>& iv,
                        core::ByteView bytes) {
  core::check(key.size() == 16, "a key of AES-128 has 16 bytes");
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           EVP_CIPHER_CTX_free);
  core::Bytes out(bytes.size());
  int size = 0;
  core::check(context != nullptr &&
                  EVP_EncryptInit_ex(context.get(), EVP_aes_128_ctr(), nullptr, key.data(),
                                     iv.data()) == 1 &&
                  EVP_EncryptUpdate(context.get(), out.data(), &size, bytes.data(),
                                    static_cast<int>(bytes.size())) == 1,
              "AES-128-CTR fails");
  return out;
}

}  // namespace commensal::keys
