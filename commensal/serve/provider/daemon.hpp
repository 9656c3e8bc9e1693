// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <memory>
#include <string>

namespace commensal::provider {

struct DaemonConfig {
  core::Path folder;     // state: key, store, models
  store::KeyOpener key;  // nothing: the plain key file of the folder
  std::string gateway;   // "host:port" of its provider link
  std::string name;
  std::uint32_t threads = 1;      // told to the gateway
  std::size_t tasks_at_once = 1;  // as ProviderConfig's
  PurseConfig purse;
  /// As ProviderWorld's. Called on the daemon's own thread until the daemon is destroyed.
  std::function<std::string()> why_paused = {};
};

/// A provider in the real world: its folder, a loop on a thread of its own, gRPC to the gateway.
/// It runs from start() until it is destroyed. Thread-safety: the owner's thread.
class Daemon {
 public:
  /// `engines` computes; an honest provider passes a SessionEngineFactory.
  /// Errors: those of store::StateFolder and Provider::create.
  static core::Result<std::unique_ptr<Daemon>> start(const DaemonConfig& config,
                                                     std::unique_ptr<EngineFactory> engines);
  ~Daemon();

  crypto::Address address() const;
  ProviderStatus status();

 private:
  struct State;
  explicit Daemon(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::provider
