// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/lab/serial/adjudicate.hpp>
#include <commensal/lab/serial/tickets.hpp>
#include <commensal/verify/rollout/client.hpp>
#include <commensal/verify/rollout/provider.hpp>
#include <functional>

namespace commensal::serial {

/// A rollout of one model, with a client, a provider and an auditor in this process.
struct RolloutOptions {
  std::shared_ptr<const graph::Graph> graph;
  graph::SessionOptions session;
  std::vector<protocol::Feed> feeds;
  tensor::NamedTensors inputs;
  std::uint64_t steps = 100;
  std::optional<int> noise_exponent;  // none: without noise
  protocol::StateRule states = protocol::StateRule::kAny;
  double audit_probability = 0.01;  // of every step; winners and step 1 of 10 or more are besides
  protocol::Amount face_value{1'000'000};
  double win_probability = 0.01;
  std::uint64_t steps_per_round = 100;  // tickets of one round of the beacon
  /// Keys, salt_0, noise, hash chains and audit draws follow from it: with the same one a rollout
  /// that was broken off goes on.
  core::Digest secret{};
  bool stops_at_mismatch = true;
  rollout::Engine* engine = nullptr;  // the provider's; null: an honest one
};

struct CaughtStep {
  std::uint64_t step = 0;
  protocol::Verdict verdict;
  std::string node;     // the first operator on which provider and auditor differ
  Ruling ruling;        // of the dispute about it
  core::Bytes opening;  // receipt::Opening, encoded: what tells the arbiter the step's inputs
};

/// Where a caught step's papers go: FOLDER/step-N.opening, and FOLDER/step-N.verdict where the
/// dispute was proved.
core::Path opening_file(const core::Path& folder, std::uint64_t step);
core::Path verdict_file(const core::Path& folder, std::uint64_t step);
/// Makes the folder if need be. Errors: those of writing files.
core::Result<void> write_papers(const CaughtStep& wrong, const core::Path& folder);

struct RolloutReport {
  core::Digest job{};
  core::Digest final_root{};        // of the last delivered step's outputs
  std::uint64_t steps = 0;          // delivered, of this run and those before it
  std::uint64_t resumed_after = 0;  // steps that were there already
  std::uint64_t audits = 0;         // of this run
  std::vector<CaughtStep> caught;
  ticket::Totals tickets;  // the client's
};

/// Runs a rollout step by step. Both parties' states are in their stores: one that is opened on
/// them again goes on after the last commitment, to the same final state.
/// Thread-safety: one thread.
class LocalRollout {
 public:
  struct Outside {
    core::Store& client;
    core::Store& provider;
    const core::Clock& clock;
    core::Rng& rng;  // salts
  };
  /// `outside` must outlive the object. Errors: those of ClientJob and ProviderJob.
  static core::Result<std::unique_ptr<LocalRollout>> open(const Outside& outside,
                                                          RolloutOptions options);

  /// `shown` is called after every step with the report so far.
  /// Errors: what a party refuses, the stores'.
  core::Result<RolloutReport> run(const std::function<void(const RolloutReport&)>& shown);

  rollout::ClientJob& client() { return *client_; }
  rollout::ProviderJob& provider() { return *provider_; }

 private:
  struct Keys {
    crypto::SecretKey client, provider, auditor;
  };
  LocalRollout(const Outside& outside, RolloutOptions options, Keys keys,
               std::unique_ptr<rollout::Engine> honest, noise::NoisySession auditing,
               const receipt::ModelRoots& roots);
  /// What both parties agree on before step 1.
  core::Result<rollout::JobRecord> agreed() const;
  core::Result<bool> is_known(core::Store& store) const;
  rollout::Engine& engine();
  core::Result<void> open_parties();
  core::Result<void> make_step();
  core::Result<receipt::Commit> commit(const receipt::Begin& begin);
  core::Result<receipt::Countersign> countersign(const receipt::Commit& commit);
  core::Result<void> deliver(const receipt::Countersign& countersign);
  core::Result<void> after_step(std::uint64_t step);
  core::Result<bool> audit(std::uint64_t step);
  core::Result<CaughtStep> catch_step(const receipt::Opening& shown, protocol::Verdict verdict);
  bool is_drawn_for_audit(std::uint64_t step) const;
  core::Digest derived(std::string_view what) const;

  Outside outside_;
  RolloutOptions options_;
  Keys keys_;
  store::JointStore client_store_, provider_store_;
  std::unique_ptr<rollout::Engine> honest_;
  noise::NoisySession auditing_;
  receipt::ModelRoots roots_;
  std::optional<RolloutTickets> tickets_;
  std::optional<rollout::ClientJob> client_;
  std::optional<rollout::ProviderJob> provider_;
  RolloutReport report_;
};

}  // namespace commensal::serial
