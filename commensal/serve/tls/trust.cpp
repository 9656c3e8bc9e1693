// SPDX-License-Identifier: Apache-2.0
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/tls/trust.hpp>

namespace commensal::tls {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<ssl_ctx_st*> new_client_context(const Trust& trust) {
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                       SSL_CTX_free);
  core::check(context != nullptr, "OpenSSL makes contexts");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  if (!trust.pins.empty()) return context.release();  // check_pins() is all
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const bool loaded = trust.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                          : SSL_CTX_load_verify_file(context.get(), trust.ca_file.c_str()) == 1;
  if (!loaded) {
    return fail(ErrorCode::kInvalidArgument, "'{}', expected a file of certificates in PEM",
                trust.ca_file.string());
  }
  return context.release();
}

void expect_host(ssl_st* connection, const Trust& trust, const std::string& host) {
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(connection);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return;  // SNI is for names
  SSL_set_tlsext_host_name(connection, host.c_str());
  if (trust.pins.empty()) SSL_set1_host(connection, host.c_str());
}

Result<void> check_pins(ssl_st* connection, const Trust& trust) {
  if (trust.pins.empty()) return {};
  const std::unique_ptr<X509, void (*)(X509*)> shown(SSL_get1_peer_certificate(connection),
                                                     X509_free);
  unsigned char* der = nullptr;
  const int size = shown ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(shown.get()), &der) : 0;
  const core::Digest found =
      size > 0 ? crypto::sha256({der, static_cast<std::size_t>(size)}) : core::Digest();
  OPENSSL_free(der);
  if (std::ranges::find(trust.pins, found) != trust.pins.end()) return {};
  return fail(ErrorCode::kUnauthenticated, "its public key has the SHA-256 {}, expected {}",
              core::to_hex(found), core::to_hex(trust.pins.front()));
}

std::string why_distrusted(ssl_st* connection) {
  const long result = SSL_get_verify_result(connection);
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

}  // namespace commensal::tls
