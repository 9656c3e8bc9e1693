// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/trade/pay/keys/kdf.hpp>
#include <commensal/trade/pay/keys/password.hpp>
#include <optional>
#include <string>

namespace commensal::keys {

// Web3 Secret Storage, version 3: a secret key in a JSON text, encrypted under a password, as
// wallets and nodes of EVM chains write it.
// Source: ethereum.org, "Web3 Secret Storage Definition". Read: scrypt and pbkdf2 (hmac-sha256),
// aes-128-ctr. Written: scrypt. Pure functions, as slow as the key derivation is.

/// How slow: seconds and 256 MB, or 4 MB and some milliseconds for tests.
enum class Cost : std::uint8_t { kStandard, kLight };

/// The text of a keystore. Precondition: the password is not empty.
std::string lock(const crypto::SecretKey& key, const Password& password, core::Rng& rng,
                 Cost cost = Cost::kStandard);

/// Errors: kInvalidArgument (not such a text; the message names the member), kUnsupported (another
/// version, kdf or cipher), kResourceExhausted (beyond limits.hpp), kUnauthenticated (wrong
/// password, or the file was changed).
core::Result<crypto::SecretKey> unlock(std::string_view text, const Password& password);

/// Everything but the password: errors as unlock(), without kUnauthenticated.
core::Result<void> check_form(std::string_view text);

/// The address that the text claims, without a password and so without a proof; nothing where it
/// claims none. Error: kInvalidArgument.
core::Result<std::optional<crypto::Address>> claimed_address(std::string_view text);

}  // namespace commensal::keys
