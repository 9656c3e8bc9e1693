// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string>
#include <vector>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // and SSL

namespace commensal::tls {

/// Which servers a client believes. With pins: whoever shows one of these keys (key_hash()), be the
/// certificate expired or for other names. Else who shows a certificate for the host's name that is
/// valid and signed by the file's authorities, or by the system's where it is empty.
struct Trust {
  std::vector<core::Digest> pins;
  core::Path ca_file;
};

/// A client's context, for a library that frees it; TLS 1.3. Error: kInvalidArgument (the file).
core::Result<ssl_ctx_st*> new_client_context(const Trust& trust);
/// Before the handshake: the name that is asked for (SNI) and, without pins, checked.
void expect_host(ssl_st* connection, const Trust& trust, const std::string& host);
/// After it, before anything is said. Error: kUnauthenticated: none of the pins.
core::Result<void> check_pins(ssl_st* connection, const Trust& trust);
/// Why a handshake failed on the peer's certificate; "" where it was not that.
std::string why_distrusted(ssl_st* connection);

}  // namespace commensal::tls
