// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/serve/client/training/gateway.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <commensal/verify/rollout/record.hpp>
#include <deque>
#include <map>
#include <vector>

namespace commensal::training::testing {

enum class Lie { kNone, kState, kLosses, kCount };

/// What becomes of a rollout. By default it is made, and right.
struct Act {
  std::uint64_t made = 1'000;       // steps, at most those that were asked for
  std::uint64_t trusted = 1'000;    // of these, once it is over; until then all of them
  std::uint64_t confirmed = 1'000;  // of those that are trusted
  std::uint64_t matched = 1'000;    // audits, of those
  std::string state = "finished";
  std::string reason = {};
  std::string reason_code = {};
  Lie lie = Lie::kNone;
  std::uint64_t lies_from = 2;  // the step
  bool moves = false;           // who is asked first refuses its first step
  int open = 0;                 // so often the audit of its last step is still open when it is over
  bool is_unanswered = false;   // its start is heard, and nobody hears that
};

/// What is known of a rollout only later.
struct Fall {
  std::size_t of = 0;  // the rollout: how many had begun before it
  std::uint64_t trusted = 0;
  std::string state = "caught";
  std::string reason = {};
  int open = 0;  // as Act's, from then on
};

/// A gateway with a provider that makes rollouts at once, each as the script says: its steps are
/// computed and signed by both sides. For tests; thread-safety: none.
class ScriptedGateway final : public Gateway {
 public:
  explicit ScriptedGateway(core::ManualClock& clock) : clock_(clock) {}

  core::Result<client::ModelInfo> model(const std::string& name) override;
  core::Result<client::ModelInfo> push(const client::PushRequest& request) override;
  core::Result<client::ModelInfo> allow(const std::string& name,
                                        const std::vector<crypto::Address>& providers) override;
  core::Result<client::RolloutInfo> start_rollout(const client::RolloutOrder& order) override;
  core::Result<client::RolloutInfo> rollout(const core::Digest& id, std::uint64_t after,
                                            std::int64_t wait_ms) override;
  core::Result<std::vector<client::RolloutInfo>> rollouts(const std::string& key_prefix) override;
  core::Result<void> cancel_rollout(const core::Digest& id) override;
  core::Result<core::Bytes> rollout_record(const core::Digest& id) override;
  core::Result<core::Bytes> rollout_step(const core::Digest& id, std::uint64_t step) override;
  double price() override { return 0; }

  std::deque<Act> script;     // of the rollouts that come next; then the default
  std::map<int, Fall> falls;  // when so many have begun
  bool is_away = false;       // each start takes a minute, and nobody answers
  int refuses = 0;            // so many cancellations, each of which takes a second
  bool knows_models = true;   // or does not answer who asks for one
  int started = 0, cancelled = 0, pushed = 0;

 private:
  struct Kept {
    client::RolloutInfo info;  // as it is shown next
    client::RolloutInfo last;  // as it ends
    int open = 0;              // as Act's
    rollout::JobRecord record;
    std::vector<rollout::StepRecord> steps;
  };
  rollout::JobRecord record_of(const client::RolloutOrder& order);
  std::vector<rollout::StepRecord> made_of(const rollout::JobRecord& record, const Act& act);
  core::Result<Kept*> find(const core::Digest& id);
  void fall(const Fall& fall);

  core::ManualClock& clock_;
  core::CounterRng rng_{7};
  const crypto::SecretKey consumer_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  const crypto::Address refuser_ = crypto::SecretKey::generate(rng_).address();
  client::ModelInfo model_;
  std::shared_ptr<const graph::Graph> graph_;
  std::map<core::Digest, Kept> kept_;
  std::vector<core::Digest> ids_;  // as they began
};

}  // namespace commensal::training::testing
