// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/trade/pay/keys/password.hpp>
#include <string>

namespace commensal::apps {

/// --keystore and --password-file. A password is read from a file or asked for on the terminal,
/// never from the command line, where every process of the machine could read it.
struct KeyOptions {
  std::string keystore;
  std::string password_file;

  void declare(CLI::App& app);
  /// Of a daemon: nothing where neither option was given, that is the plain key file of its folder.
  /// A plain key file that is there moves into the keystore.
  store::KeyOpener opener() const;
};

/// A key for one use: of a keystore, unlocked as get_password() says, or of a plain key file.
/// Errors: those of either, and of get_password().
core::Result<crypto::SecretKey> read_key(const core::Path& file, const std::string& password_file);

/// The key of who signs a transaction here: --data-dir, --keystore (--key) and --password-file.
struct SignerOptions {
  std::string folder;  // of a daemon, which may be running on it
  std::string keystore;
  std::string password_file;

  void declare(CLI::App& app);
  /// Errors: read_key()'s.
  core::Result<crypto::SecretKey> key() const;
};

/// From the file, or asked for on the terminal, twice where `is_new`.
/// Errors: those of keys::read_password; kInvalidArgument (empty, or not the same twice),
/// kFailedPrecondition (no terminal).
core::Result<keys::Password> get_password(const std::string& file, bool is_new);

}  // namespace commensal::apps
