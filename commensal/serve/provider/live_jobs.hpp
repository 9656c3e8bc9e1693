// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/serve/provider/executor.hpp>
#include <commensal/serve/provider/late_steps.hpp>
#include <commensal/serve/provider/purse.hpp>
#include <commensal/verify/rollout/retention.hpp>
#include <map>
#include <memory>
#include <set>

namespace commensal::provider {

/// A job at hand.
struct LiveJob {
  core::Digest id{};
  std::optional<core::Digest> model;  // SHA-256 of its file, once it was offered
  std::shared_ptr<rollout::ProviderJob> job;
  TaskPtr task;              // the step that is computed, or is to be
  receipt::Begin asked;      // last
  std::int64_t ops_max = 0;  // of each step
  std::optional<rpc::Batching> batching;
  std::optional<rpc::RequestName> request = {};  // that it is for
  std::shared_ptr<JointRun> run = {};            // that has computed it
  std::int64_t asked_ns = 0;                     // when `asked` came
  std::uint64_t stream = 0;                      // that asked: on a later one nothing is answered
  std::uint64_t used = 0;
  std::uint64_t excused = 0;  // the step before we were gone: its delay may be ours

  bool is_kept() const { return job->job().traits().is_kept; }
  /// Between the question and the commitment.
  bool is_busy() const { return task != nullptr || job->is_holding(); }
};
using LiveJobPtr = std::shared_ptr<LiveJob>;

/// The jobs at hand, and room for them: there, and in the store for those that are kept. It sends
/// nothing and computes nothing: provider::Jobs does. Thread-safety: the loop's thread.
class LiveJobs {
 public:
  struct Dependencies {
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;
    Purse& purse;
    std::size_t kept_max = limits::kRolloutsKeptMax;
    std::uint64_t kept_bytes_max = limits::kProviderRolloutBytesMax;
  };
  explicit LiveJobs(const Dependencies& deps) : deps_(deps), late_(deps_.store) {}

  /// Null: it is not at hand.
  LiveJobPtr find(const core::Digest& job) const;
  /// Out of the store where need be. Errors: kNotFound (it is in neither), kUnavailable (no room),
  /// the store's.
  core::Result<LiveJobPtr> at_hand(const core::Digest& job);
  /// Whether it is in the store.
  bool is_known(const core::Digest& job);
  /// Takes up a job that is not at hand, anew or from the store. Of those that are kept it makes
  /// room where need be: at hand, whoever has not been asked for longest can be taken up again; in
  /// the store the oldest goes whose last step is signed, or else the oldest that is not at hand,
  /// as its gateway has few at work; none with undecided tickets. Errors: kResourceExhausted (the
  /// store's jobs, or their bytes), kUnavailable (all are at work), the store's.
  core::Result<LiveJobPtr> take_up(rollout::JobRecord record);
  /// What is kept of it stays in the store.
  void drop(const core::Digest& job);
  /// All that are not kept.
  std::vector<LiveJobPtr> drop_fleeting();
  /// How many of those there are.
  std::size_t fleeting() const { return live_.size() - kept_; }

  /// The commitment, if it has been made; nothing: the step is to be computed. One that the client
  /// has not signed for so long that its round is closed earns no ticket, and too many of those are
  /// refused. Errors: rollout::ProviderJob::asked's, kFailedPrecondition, kResourceExhausted (no
  /// room for another state as large as the last one).
  core::Result<std::optional<receipt::Commit>> asked(LiveJob& live, const receipt::Begin& begin);
  /// Commits to what these hold: one signature, one write, their tickets included. Of a job that is
  /// kept the step before goes. After an error they must be dropped: what failed to be written is
  /// in memory, and must not be said.
  core::Result<std::vector<receipt::Commit>> commit(std::span<const LiveJobPtr> jobs);
  /// What each countersignature opens, or why it opens nothing; what was signed is durable.
  /// Errors: the store's. After either the job must be dropped.
  using Deliveries = std::vector<core::Result<receipt::Deliver>>;
  core::Result<Deliveries> countersign(std::span<const LiveJobPtr> jobs,
                                       std::span<const receipt::Countersign> messages);

 private:
  rollout::ProviderJob::Dependencies job_deps(bool is_kept) const;
  core::Result<LiveJobPtr> load(const core::Digest& job);
  LiveJobPtr add(rollout::ProviderJob job);
  core::Result<void> make_room();
  /// For so many more rollouts, and bytes.
  core::Result<void> make_room_in_store(std::size_t more, std::uint64_t bytes);
  /// What is kept on the disk, read when first asked for.
  core::Result<rollout::KeptBytes*> kept_bytes();
  core::Result<void> note_bytes(const core::Digest& job);
  bool is_finished(const core::Digest& job);
  /// The last step's ticket comes to nothing. Error: kFailedPrecondition, too many before it.
  core::Result<void> note_late(const LiveJob& live);
  /// Whether the ticket of the step that is to be signed can still be drawn; nothing: it has none.
  std::optional<bool> is_in_time(const LiveJob& live, const receipt::Countersign& message) const;

  Dependencies deps_;
  LateSteps late_;
  std::uint64_t uses_ = 0;
  std::map<core::Digest, LiveJobPtr> live_;
  std::size_t kept_ = 0;  // of those
  std::optional<rollout::KeptBytes> kept_bytes_;
  std::set<core::Digest> at_work_;   // jobs that are kept, with steps since we are there
  protocol::KnownSignatures known_;  // of the client
};

}  // namespace commensal::provider
