// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/lab/serial/adjudicate.hpp>
#include <commensal/lab/serial/tickets.hpp>
#include <commensal/verify/chain/client.hpp>
#include <commensal/verify/chain/provider.hpp>
#include <functional>

namespace commensal::serial {

/// A chain of one model, with a client, a provider and an auditor in this process.
struct ChainOptions {
  std::shared_ptr<const graph::Graph> graph;
  graph::SessionOptions session;
  std::vector<protocol::Feed> feeds;
  tensor::NamedTensors inputs;
  std::uint64_t steps = 100;
  std::optional<int> noise_exponent;  // none: without noise
  protocol::StateRule states = protocol::StateRule::kAny;
  double audit_probability = 0.01;  // of every link; winners and link 1 of 10 or more are besides
  protocol::Amount face_value{1'000'000};
  double win_probability = 0.01;
  std::uint64_t round_links = 100;  // tickets of one round of the beacon
  /// Keys, salt_0, noise, hash chains and audit draws follow from it: with the same one a chain
  /// that was broken off goes on.
  core::Digest secret{};
  bool stops_at_mismatch = true;
  chain::Engine* engine = nullptr;  // the provider's; null: an honest one
};

struct CaughtLink {
  std::uint64_t step = 0;
  protocol::Verdict verdict;
  std::string node;  // the first operator on which provider and auditor differ
  Ruling ruling;     // of the dispute about it
  core::Bytes task;  // chain::LinkTask, encoded: what tells the arbiter the link's inputs
};

/// Where a caught link's papers go: FOLDER/link-N.task, and FOLDER/link-N.verdict where the dispute
/// was proved.
core::Path task_file(const core::Path& folder, std::uint64_t step);
core::Path verdict_file(const core::Path& folder, std::uint64_t step);
/// Makes the folder if need be. Errors: those of writing files.
core::Result<void> write_papers(const CaughtLink& link, const core::Path& folder);

struct ChainReport {
  core::Digest job{};
  core::Digest final_root{};        // of the last delivered link's outputs
  std::uint64_t steps = 0;          // delivered, of this run and those before it
  std::uint64_t resumed_after = 0;  // links that were there already
  std::uint64_t audits = 0;         // of this run
  std::vector<CaughtLink> caught;
  ticket::Totals tickets;  // the client's
};

/// Runs a chain link by link. Both parties' states are in their stores: a world that is opened on
/// them again goes on after the last commitment, to the same final state.
/// Thread-safety: one thread.
class ChainWorld {
 public:
  struct Outside {
    core::Store& client;
    core::Store& provider;
    const core::Clock& clock;
    core::Rng& rng;  // salts
  };
  /// `outside` must outlive the object. Errors: those of ChainClient and ChainProvider.
  static core::Result<std::unique_ptr<ChainWorld>> open(const Outside& outside,
                                                        ChainOptions options);

  /// `shown` is called after every link with the report so far.
  /// Errors: what a party refuses, the stores'.
  core::Result<ChainReport> run(const std::function<void(const ChainReport&)>& shown);

  chain::ChainClient& client() { return *client_; }
  chain::ChainProvider& provider() { return *provider_; }

 private:
  struct Keys {
    crypto::SecretKey client, provider, auditor;
  };
  ChainWorld(const Outside& outside, ChainOptions options, Keys keys,
             std::unique_ptr<chain::Engine> honest, noise::NoisySession auditing,
             const receipt::ModelRoots& roots);
  /// What both parties agree on before link 1.
  core::Result<chain::ChainRecord> agreed() const;
  template <class Party, class World>
  core::Result<Party> opened(const World& world, const chain::ChainRecord& record);
  core::Result<void> open_parties();
  core::Result<void> make_link();
  core::Result<chain::Commit> commit(const chain::Begin& begin);
  core::Result<chain::Countersign> countersign(const chain::Commit& commit);
  core::Result<void> deliver(const chain::Countersign& countersign);
  core::Result<void> after_link(std::uint64_t step);
  core::Result<bool> audit(std::uint64_t step);
  core::Result<CaughtLink> catch_link(const chain::ChainClient::Audit& shown,
                                      protocol::Verdict verdict);
  bool is_drawn_for_audit(std::uint64_t step) const;
  core::Digest derived(std::string_view what) const;

  Outside outside_;
  ChainOptions options_;
  Keys keys_;
  store::JointStore client_store_, provider_store_;
  std::unique_ptr<chain::Engine> honest_;
  noise::NoisySession auditing_;
  receipt::ModelRoots roots_;
  std::optional<ChainTickets> tickets_;
  std::optional<chain::ChainClient> client_;
  std::optional<chain::ChainProvider> provider_;
  ChainReport report_;
};

}  // namespace commensal::serial
