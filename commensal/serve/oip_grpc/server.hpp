// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/network.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/serve/oip/services.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <cstdint>
#include <memory>
#include <string>

namespace commensal::oip_grpc {

/// The gRPC face of the Open Inference Protocol: service inference.GRPCInferenceService of
/// proto/inference/grpc_service.proto, so that clients of Triton work unchanged. A token comes as
/// metadata "authorization: Bearer TOKEN"; connections, requests and memory are bounded as over
/// HTTP. A message is read once it is known who sends it. Thread-safety: one owner; port(), any.
class GrpcInferenceServer {
 public:
  /// `address` is "host:port"; port 0 takes a free one. With an identity it speaks TLS. `services`
  /// outlive it, and all that runs on their threads. `listening`: rpc::Door::open()'s. Error:
  /// kUnavailable.
  static core::Result<std::unique_ptr<GrpcInferenceServer>> start(
      const oip::Services& services, const std::string& address,
      std::shared_ptr<const tls::Identity> identity = nullptr,
      const core::Listener* listening = nullptr);
  GrpcInferenceServer(const GrpcInferenceServer&) = delete;
  GrpcInferenceServer& operator=(const GrpcInferenceServer&) = delete;
  /// As stop().
  ~GrpcInferenceServer();

  std::uint16_t port() const;
  /// Takes no new calls, lets those under way finish for `grace_ms` (of a stream: what it has
  /// asked) and cancels what is left. Not on the loop.
  void drain(std::int64_t grace_ms);
  /// Cancels what is under way. Not on the loop.
  void stop();

 private:
  struct State;
  explicit GrpcInferenceServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::oip_grpc
