// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <memory>
#include <string>

namespace commensal::rpc {

/// A gateway's gRPC end: service commensal.v1.ProviderStream of proto/commensal/v1/stream.proto.
/// For each stream the port hears on_open, its messages in order, on_close; each once, on the loop.
/// A provider has at most one message with the loop, the rest wait in TCP, so that none can flood
/// it. A stream ends when its peer breaks the protocol or does not read what it is sent.
/// With an identity it speaks TLS, with whoever shows a certificate.
/// Port and loop outlive the server; model_path must not wait for the loop.
class GrpcServer {
 public:
  /// `address` is "host:port"; port 0 takes a free one. `listening`: Door::open()'s.
  /// Error: kUnavailable where the address cannot be listened on.
  static core::Result<std::unique_ptr<GrpcServer>> start(
      GatewayPort& port, core::Loop& loop, const std::string& address,
      std::shared_ptr<const tls::Identity> identity = nullptr,
      const core::Listener* listening = nullptr);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  /// As stop().
  ~GrpcServer();

  int port() const;
  /// Ends every stream: the port hears on_close for each that is open before stop() returns, and
  /// then nothing. Call it on the loop, or when the loop has ended.
  void stop();

 private:
  struct State;
  explicit GrpcServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::rpc
