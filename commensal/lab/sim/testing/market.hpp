// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/lab/sim/testing/inspector.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <commensal/serve/rpc/direct.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commensal::sim::testing {

/// Threads of this process and nothing in between: the models are our own.
std::unique_ptr<rollout::EngineFactory> engines_of_this_process();

/// A gateway and its providers in one thread, in virtual time, from one seed: the very code of the
/// daemons on a ManualLoop, memory stores and direct streams. What runs twice from the same seed
/// ends in the same state_hash(). After every step the gateway's money is inspected
/// (MoneyInspector); what does not add up stops the test there. Not thread-safe.
class Market {
 public:
  /// State that is not in the stores (model files) goes into `folder`, which it empties first.
  Market(std::uint64_t seed, core::Path folder, const gateway::GatewayConfig& config = {},
         const provider::PurseConfig& purse = {});
  ~Market();

  /// Starts the gateway on its store; from now on, or until the fault that was set, it is there.
  core::Result<void> start_gateway();
  /// The gateway is gone, as after kill -9; its store stays.
  void kill_gateway();
  /// From the next start on: what it computes audits and disputes with.
  void set_gateway_engines(std::function<std::unique_ptr<rollout::EngineFactory>()> make) {
    gateway_engines_ = std::move(make);
  }
  /// From the next start on.
  void set_price(const protocol::Amount& price) { config_.money.price = price; }
  /// Likewise: how often it draws, judges and pays what nobody judges.
  void set_round_ms(std::int64_t round_ms) { config_.money.round_ms = round_ms; }
  /// The gateway's next life ends at this write.
  void break_gateway_at(std::uint64_t write, store::testing::Fault fault);

  /// Providers that start from now on may run so many jobs of a model at once.
  void set_at_once(std::size_t at_once) { at_once_ = at_once; }
  /// What the gateway writes off its loop takes so long; at first the seed says how long.
  void set_disk_ms(std::int64_t ms) { loop_.set_store_ms(ms); }
  /// What providers that start from now on say and hear takes so long.
  void set_delay_ms(std::int64_t delay_ms) { delay_ms_ = delay_ms; }
  /// Providers that start from now on never show what auditors have signed of them.
  void set_mute(bool is_mute) { is_mute_ = is_mute; }
  /// Every word that a provider hears from now on, before it does, and the provider's index.
  void overhear(std::function<void(std::size_t, const rpc::ToProvider&)> heard) {
    overheard_ = std::move(heard);
  }
  /// Index of the new provider, which dials at once.
  std::size_t add_provider(
      const std::string& name,
      std::unique_ptr<rollout::EngineFactory> engines = engines_of_this_process());
  void kill_provider(std::size_t index);
  void start_provider(std::size_t index);
  /// From its next start on it computes as it should.
  void mend_provider(std::size_t index);
  /// Of one that is not running: it comes back with another hash chain.
  void lose_chain(std::size_t index);
  void break_provider_at(std::size_t index, std::uint64_t write, store::testing::Fault fault);
  /// From its next start on it shows what auditors have signed of it.
  void show(std::size_t index, std::vector<protocol::PrivacyStatement> statements);
  /// From its next start on it hangs up for good instead of showing a draw that it has won.
  void hide_winners(std::size_t index);
  /// Of one that is not running: what it owes for the last round that the gateway has closed.
  ledger::Reveal reveal_of(std::size_t index);
  /// Its guest stands still at once, and its provider says so as soon as it looks; "": it goes on.
  void pause(std::size_t index, const std::string& why);
  /// Its guest stands still for so long, and its provider says nothing but that it is at work.
  void stall(std::size_t index, std::int64_t ms);
  /// As pause(), `after_ms` from now.
  void pause_later(std::size_t index, const std::string& why, std::int64_t after_ms);
  /// The network between gateway and provider breaks; the provider dials again later.
  void cut(std::size_t index);
  /// Its owner is about to stop it; what it has left then.
  void retire(std::size_t index);
  std::size_t left(std::size_t index) const;
  crypto::Address address_of(std::size_t index) const { return key_of(index).address(); }
  const crypto::SecretKey& key_of(std::size_t index) const;
  /// Of one that is running.
  provider::ProviderStatus status_of(std::size_t index) const;

  core::Result<gateway::ModelVersion> push(const std::string& model, core::ByteView bytes,
                                           const gateway::PushOptions& options = {});
  /// One request, which goes on while time does.
  void ask(const std::string& model, const tensor::NamedTensors& inputs, gateway::InferDone done);
  /// One request for the newest version of "consumer/<model>", driven until it is answered or
  /// `patience_ms` have passed (then: kDeadlineExceeded).
  core::Result<gateway::InferResponse> infer(const std::string& model,
                                             const tensor::NamedTensors& inputs,
                                             std::int64_t patience_ms = 120'000);
  /// Lets audits, replacements and reconnections happen.
  void rest_ms(std::int64_t ms);

  gateway::Gateway& gateway() { return *gateway_; }
  core::Loop& loop() { return loop_; }
  const core::Clock& clock() const { return clock_; }
  bool gateway_crashed() const { return gateway_faults_ && gateway_faults_->crashed(); }
  std::uint64_t gateway_writes() const { return gateway_faults_ ? gateway_faults_->applies() : 0; }
  std::uint64_t provider_writes(std::size_t index) const;
  /// Bytes of the rows in the gateway's store; of a provider's.
  std::size_t stored_bytes() const { return store_.bytes(); }
  std::size_t stored_bytes(std::size_t index) const;
  /// Over all that the stores hold.
  core::Digest state_hash();
  /// What the journal has told so far.
  const MoneyCounts& money() const { return inspector_.counts(); }
  /// For when nothing is on its way any more: the journal run again gives the gateway's state, and
  /// it and the books of both sides say the same of every ticket. Errors: what is wrong.
  core::Result<void> check_money();

 private:
  class PausedLoop;
  class Ear;
  class HangUp;
  struct Member;

  void inspect();

  core::CounterRng rng_;
  core::Path folder_;
  gateway::GatewayConfig config_;
  provider::PurseConfig purse_;
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  rpc::DirectServer server_{loop_};
  crypto::SecretKey key_;
  store::MemoryStore store_;
  MoneyInspector inspector_{store_};
  std::function<std::unique_ptr<rollout::EngineFactory>()> gateway_engines_ =
      engines_of_this_process;
  std::optional<std::pair<std::uint64_t, store::testing::Fault>> gateway_fault_;
  std::size_t at_once_ = 1;
  std::int64_t delay_ms_ = 0;
  bool is_mute_ = false;
  std::function<void(std::size_t, const rpc::ToProvider&)> overheard_;
  std::uint64_t gateway_fault_at_ = 0;  // of this life: the write that goes wrong
  std::unique_ptr<store::testing::FaultStore> gateway_faults_;
  std::unique_ptr<gateway::Gateway> gateway_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace commensal::sim::testing
