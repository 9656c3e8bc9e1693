// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/keys/keystore.hpp>

namespace commensal::keys {

// Keystores as files, mode 0600.

/// Errors: those of core::read_file and unlock, the file's name in front.
core::Result<crypto::SecretKey> unlock_file(const core::Path& keystore, const Password& password);
/// Errors: kAlreadyExists; those of core::write_file_atomically.
core::Result<void> lock_file(const core::Path& keystore, const crypto::SecretKey& key,
                             const Password& password, core::Rng& rng, Cost cost);

/// 64 hexadecimal digits in a file: how daemons keep their key without a keystore.
/// Errors: those of core::read_file; kInvalidArgument.
core::Result<crypto::SecretKey> read_plain_key(const core::Path& file);

/// Puts a plain key file into a keystore, unlocks that to be sure, then removes the plain file.
/// Broken off anywhere it can be repeated. An existing keystore must hold the same key.
/// Errors: those of the above; kFailedPrecondition (the keystore holds another key).
core::Result<crypto::SecretKey> migrate(const core::Path& plain, const core::Path& keystore,
                                        const Password& password, core::Rng& rng, Cost cost);

/// The key of a daemon: migrates `plain` where it is there, else unlocks the keystore, else makes a
/// new key. Errors: those of the above.
core::Result<crypto::SecretKey> open_or_make(const core::Path& plain, const core::Path& keystore,
                                             const Password& password, core::Rng& rng,
                                             Cost cost = Cost::kStandard);

}  // namespace commensal::keys
