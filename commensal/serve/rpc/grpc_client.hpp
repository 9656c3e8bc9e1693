// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <memory>
#include <string>

namespace commensal::rpc {

/// A provider's gRPC end, for the gateway at `address` ("host:port"), or for several on one state
/// (with commas between), of which each attach() takes the next. Each opens a connection of its own
/// and tries once: a gateway that cannot be reached is on_close with kUnavailable, and when to try
/// again is the caller's affair.
/// The loop outlives the client. attach, send and the destructor belong to the loop (or to its
/// owner, when it has ended); fetch_model to any thread, and ends before the client does.
/// With an identity, which it shows, it speaks TLS, with whoever answers: channel() says with whom.
std::unique_ptr<GatewayClient> make_grpc_client(
    core::Loop& loop, const std::string& address,
    std::shared_ptr<const tls::Identity> identity = nullptr);

}  // namespace commensal::rpc
