// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/file.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

/// Certificates (X.509, RFC 5280) of our own ends, and all that OpenSSL has to be told about them.
namespace commensal::tls {

/// Certificate, or chain with the own one first, and its private key; both PEM.
struct Pem {
  std::string certificate;
  std::string key;
};

/// A certificate that signs itself, for the given DNS names and IP addresses: a P-256 key, valid
/// from `from_ms` (wall clock) for `days`. OpenSSL's own dice make the key.
/// Errors: kInvalidArgument (a name that is none), kInternal.
core::Result<Pem> make_certificate(std::span<const std::string> hosts, std::int64_t from_ms,
                                   int days = 3650);

/// What certificates are pinned by: SHA-256 of the public key (SubjectPublicKeyInfo, DER), the same
/// after the certificate is renewed for the same key. Of a chain: of its first.
/// Error: kInvalidArgument.
core::Result<core::Digest> key_hash(std::string_view certificate_pem);

/// "localhost", 127.0.0.0/8 or ::1, with or without brackets.
bool is_loopback(std::string_view host);

/// Which connections speak TLS: by default those that leave the machine.
enum class Encryption : std::uint8_t { kBeyondLoopback, kAlways, kNever };
bool is_encrypted(Encryption encryption, std::string_view host);

/// What is spoken over TLS.
enum class Protocol : std::uint8_t {
  kHttp1,  // TLS 1.3
  kHttp2,  // 1.2 at least; said by ALPN (RFC 7301)
};

/// A certificate with its key: unchanging.
struct Certificate {
  Pem pem;
  core::Digest key_hash{};
  std::array<std::shared_ptr<ssl_ctx_st>, 2> contexts;  // of servers that show it, by Protocol
};

/// The certificate that an end shows, kept in two files and read anew when they change.
/// Thread-safety: any thread.
class Identity {
 public:
  /// Errors: kNotFound, kInvalidArgument (not PEM, or the key is not the certificate's).
  static core::Result<std::shared_ptr<Identity>> open(const core::Path& certificate,
                                                      const core::Path& key);
  /// As open(), of FOLDER/tls-cert.pem and FOLDER/tls-key.pem (mode 0600), made where they are not.
  static core::Result<std::shared_ptr<Identity>> open_or_make(const core::Path& folder,
                                                              std::span<const std::string> hosts,
                                                              std::int64_t now_ms);
  /// Writes both files anew: whoever has them open takes the new certificate.
  static core::Result<void> write(const core::Path& folder, const Pem& pem);

  std::shared_ptr<const Certificate> current() const;
  /// True where the files now hold another certificate, which is current from here on. Errors:
  /// those of open(); the one before stays, as while only one of the two files has been replaced.
  core::Result<bool> reload();
  /// Of the current one, for a library that frees it.
  ssl_ctx_st* new_server_context(Protocol protocol) const;

 private:
  Identity(core::Path certificate, core::Path key)
      : certificate_file_(std::move(certificate)), key_file_(std::move(key)) {}

  const core::Path certificate_file_;
  const core::Path key_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Certificate> current_;  // guarded by mutex_
};

}  // namespace commensal::tls
