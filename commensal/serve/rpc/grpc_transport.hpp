// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

/// What both ends of the stream's TCP connection agree on: credentials, bounds, keepalive. Only
/// this room's leaf sources include it. Connections are plaintext: for loopback, or for both sides
/// of a proxy that speaks TLS.
namespace commensal::rpc {

/// A connection of its own, shared with no other channel. Connects when first used.
std::shared_ptr<grpc::Channel> open_channel(const std::string& address);

/// `port` is written when the server starts.
void configure_server(grpc::ServerBuilder& builder, const std::string& address, int* port);

}  // namespace commensal::rpc
