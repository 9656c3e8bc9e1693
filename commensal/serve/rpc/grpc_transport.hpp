// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_builder.h>

#include <commensal/base/core/bytes.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <memory>
#include <string>

/// What both ends of the stream's TCP connection agree on: credentials, bounds, keepalive. Only
/// this room's leaf sources include it.
///
/// With TLS (1.2 at least) each end shows its certificate and takes any of the other's: who that
/// is, Challenge and Hello say, whose signatures cover both certificates.
namespace commensal::rpc {

/// A connection of its own, shared with no other channel. Connects when first used; with TLS where
/// there is an identity.
std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const tls::Identity* identity = nullptr);

/// In the call's metadata, both ways: frames with several messages are read.
inline constexpr const char* kBundles = "commensal-bundles";
inline constexpr const char* kYes = "1";

/// Where sockets go that were accepted elsewhere (door.hpp).
struct Admission {
  std::shared_ptr<const void> credentials;  // outlive the server
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
};
/// Each new connection is shown the certificate that is the identity's then.
Admission configure_server(grpc::ServerBuilder& builder,
                           std::shared_ptr<const tls::Identity> identity);
/// Whom the door admits is the server's from now on, until its stop().
void admit_through(Door& door, const Admission& admission);

/// tls::key_hash() of the certificate that the peer has shown; zeros without TLS.
core::Digest peer_key_hash(const grpc::AuthContext& context);

}  // namespace commensal::rpc
