// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <string>

/// Who calls, and what of our errors is told. Pure functions.
namespace commensal::rpc {

/// Who is at the other end, by gRPC's name of it ("ipv4:1.2.3.4:5").
struct Peer {
  std::string network;     // core::network_of()
  std::string connection;  // core::connection_of()
  bool is_local = false;   // on this host
};
Peer peer_of(const std::string& name);
/// The same of a call: who came by way of a relay is not on this host, and of its own network. Whom
/// the door does not know, or no more, may have: it is neither on this host nor of any network.
Peer peer_of(const std::string& name, const Door& door);

/// The number of grpc::StatusCode.
int status_code(core::ErrorCode code);

}  // namespace commensal::rpc
