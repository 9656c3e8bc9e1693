// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/demo_world.hpp>
#include <commensal/serve/cases/brief.hpp>
#include <commensal/verify/rollout/replayer.hpp>
#include <thread>

namespace commensal::lab {

/// An auditor from outside, with a stake, that takes audits over HTTP and confirms whatever its
/// friend among the providers has put out, and stands by that; of others' answers it says what they
/// are. Ends with the object. Thread-safety: one thread.
class DemoAuditor {
 public:
  struct Friendship {
    crypto::Address provider;
    std::unique_ptr<rollout::EngineFactory> engines;  // what that computes with
  };
  /// An account of its own at this gateway, its stake locked. Errors: the gateway's.
  static core::Result<std::unique_ptr<DemoAuditor>> start(
      daemon::GatewayDaemon& gateway, const protocol::Amount& stake, const core::Path& model,
      std::unique_ptr<rollout::EngineFactory> honest, Friendship friendship);
  ~DemoAuditor();

  crypto::Address address() const { return key_.address(); }

 private:
  DemoAuditor(crypto::SecretKey key, client::Client client, core::Path model,
              std::unique_ptr<rollout::EngineFactory> honest, Friendship friendship);
  core::Result<void> lock(daemon::GatewayDaemon& gateway, const protocol::Amount& stake);
  void work();
  core::Result<bool> audit();
  core::Result<bool> defend();
  core::Result<void> book(ledger::Body body);

  crypto::SecretKey key_;
  client::Client client_;
  core::Path model_;
  crypto::Address friend_, ledger_;
  std::uint64_t nonce_ = 0;
  rollout::Replayer honest_, friends_;
  cases::Party party_;
  std::jthread thread_;  // the last: it uses the rest
};

}  // namespace commensal::lab
