// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <memory>
#include <string>

namespace grpc {
class CallbackGenericService;
}

namespace commensal::rpc {

/// What those who call a server may do, and must show. By default: providers.
struct PeerTerms {
  bool shows_certificate = true;                // where TLS is spoken
  int calls_max = 1;                            // of one connection, at a time
  std::int64_t idle_ms = limits::kHelloWaitMs;  // without a call: then a connection ends
  std::int64_t message_bytes_max = limits::kRpcWireBytesMax;
  std::size_t quota_bytes = limits::kRpcQuotaBytes;  // that gRPC holds for all connections
  bool is_inflated = true;  // what comes compressed; else messages come as they were sent
};

/// A gRPC server behind a door, all of whose calls one service takes. This header shows no gRPC, so
/// that other rooms can have one. Thread-safety: the owner's thread; door(), any.
class GenericServer {
 public:
  /// It listens, and admits nobody yet. `address` is "host:port"; port 0 takes a free one. With an
  /// identity it speaks TLS. `listening`: Door::open()'s. Error: kUnavailable.
  static core::Result<std::unique_ptr<GenericServer>> open(
      const std::string& address, std::shared_ptr<const tls::Identity> identity,
      const PeerTerms& terms, const DoorBounds& bounds, const core::Listener* listening = nullptr);
  GenericServer(const GenericServer&) = delete;
  GenericServer& operator=(const GenericServer&) = delete;
  /// As stop().
  ~GenericServer();

  /// `service` outlives stop().
  void begin(grpc::CallbackGenericService& service);
  const std::shared_ptr<Door>& door() const;
  /// Takes no more calls, lets those under way finish for `grace_ms`, and cancels what is left.
  void drain(std::int64_t grace_ms);
  /// Cancels every call and waits until gRPC has let go of all.
  void stop();

 private:
  struct State;
  explicit GenericServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Who is at the other end, by gRPC's name of it. Pure.
struct Peer {
  std::string network;     // core::network_of()
  std::string connection;  // core::connection_of()
  bool is_local = false;   // on this host
};
Peer peer_of(const std::string& name);
/// The same of a call: who came by way of a relay is not on this host, and of its own network. Whom
/// the door does not know, or no more, may have: it is neither on this host nor of any network.
Peer peer_of(const std::string& name, const Door& door);

/// The number of grpc::StatusCode. Pure.
int status_code(core::ErrorCode code);

}  // namespace commensal::rpc
