// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/network.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/oip/serving.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace commensal::daemon {

/// Sockets that listen already; one that is not valid is a port that there is not.
struct GatewayListeners {
  core::Listener http, grpc, providers;
};

struct GatewayDaemonConfig {
  core::Path folder;                   // state: key, store, models, operator.token
  store::KeyOpener key;                // nothing: the plain key file of the folder
  std::shared_ptr<core::Store> store;  // where it is not in the folder
  std::string http_address = "127.0.0.1";
  std::uint16_t http_port = 8080;  // 0: any that is free
  std::string grpc_address;        // of consumers too, "host:port"; "": none
  std::string metrics_address;     // of who reads figures and nothing else; "": nobody
  std::string provider_address = "127.0.0.1:8090";
  /// Of these addresses; null: the daemon opens its own.
  std::shared_ptr<const GatewayListeners> listeners;
  /// Which ports speak TLS: by default those that other machines can reach.
  tls::Encryption encryption = tls::Encryption::kBeyondLoopback;
  /// PEM; where it is given every port speaks TLS. Empty: FOLDER/tls-cert.pem and tls-key.pem, made
  /// if need be.
  core::Path tls_certificate;
  core::Path tls_key;
  oip::Options serving;            // of consumers
  core::Path page;                 // the folder of what browsers are shown; empty: nothing
  gateway::GatewayConfig gateway;  // its folder is set from the above
  /// Turns of the loop that take more of the processor are errors for the observer; 0: none is.
  std::int64_t turn_ms_max = 0;
  std::shared_ptr<rollout::EngineFactory> engines;  // as GatewayDependencies'
};

/// A gateway in the real world: its folder, a loop on a thread of its own, HTTP and gRPC for
/// consumers, gRPC for providers. On its first start it makes the operator's account, whose token
/// lies in FOLDER/operator.token (mode 0600). It runs from start() until it is destroyed. A
/// certificate that is replaced in its files is shown to new connections within a second.
/// Thread-safety: the owner's thread.
class GatewayDaemon {
 public:
  /// `observer`, if there is one, outlives the daemon and is called on the gateway's loop.
  /// Errors: those of store::StateFolder, tls::Identity and http::Page, kUnavailable for an address
  /// that is taken.
  static core::Result<std::unique_ptr<GatewayDaemon>> start(const GatewayDaemonConfig& config,
                                                            gateway::Observer* observer = nullptr);
  ~GatewayDaemon();

  std::uint16_t http_port() const;
  bool is_http_secure() const;
  /// 0: there is none.
  std::uint16_t grpc_port() const;
  bool is_grpc_secure() const;
  /// 0: there is none.
  std::uint16_t metrics_port() const;
  bool is_metrics_secure() const;
  bool are_providers_secure() const;
  /// What consumers may pin the certificate by; none where no port speaks TLS.
  std::optional<core::Digest> key_hash() const;
  std::uint16_t provider_port() const;
  core::Path token_file() const;
  crypto::Address address() const;
  /// Takes no new requests and lets those under way finish for `grace_ms`; providers stay.
  void drain(std::int64_t grace_ms);
  /// Runs `question` on the gateway's loop and waits for it.
  void ask(const std::function<void(gateway::Gateway&)>& question);

 private:
  struct State;
  explicit GatewayDaemon(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::daemon
