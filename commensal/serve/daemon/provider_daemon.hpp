// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <memory>
#include <string>

namespace commensal::daemon {

struct ProviderDaemonConfig {
  core::Path folder;     // state: key, store, models
  store::KeyOpener key;  // nothing: the plain key file of the folder
  std::string gateway;   // HOST:PORT of its provider stream; several: with commas between
  tls::Encryption encryption = tls::Encryption::kBeyondLoopback;
  std::optional<crypto::Address> gateway_key = {};  // as ProviderConfig's
  std::string name;
  std::uint32_t threads = 1;  // told to the gateway
  provider::AtOnce tasks_at_once = {};
  provider::PurseConfig purse;
  std::vector<protocol::PrivacyStatement> statements = {};  // as ProviderConfig's
  /// As ProviderDependencies's. Called on the daemon's own thread until the daemon is destroyed.
  std::function<std::string()> why_paused = {};
  /// Likewise.
  std::function<std::optional<rpc::HostSeen>()> host_now = {};
  /// Likewise.
  std::function<void(const provider::JobEnd&)> job_ended = {};
};

/// A provider in the real world: its folder, a loop on a thread of its own, gRPC to the gateway.
/// It runs from start() until it is destroyed. Thread-safety: the owner's thread.
class ProviderDaemon {
 public:
  /// `engines` computes; an honest provider passes a worker::ProcessEngineFactory, or,
  /// with nothing between models and itself, its twin rollout::SessionEngineFactory.
  /// Errors: those of store::StateFolder and Provider::create.
  static core::Result<std::unique_ptr<ProviderDaemon>> start(
      const ProviderDaemonConfig& config, std::unique_ptr<rollout::EngineFactory> engines);
  ~ProviderDaemon();

  crypto::Address address() const;
  provider::ProviderStatus status();
  /// As Provider's, before the end.
  void retire();
  std::size_t left();

 private:
  struct State;
  explicit ProviderDaemon(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::daemon
