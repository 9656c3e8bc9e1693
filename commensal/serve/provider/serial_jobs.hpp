// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/provider/late_steps.hpp>
#include <commensal/serve/provider/purse.hpp>
#include <commensal/verify/rollout/provider.hpp>
#include <map>
#include <memory>
#include <set>

namespace commensal::provider {

/// What is kept of jobs whose outputs are fed back: rollout::RolloutProvider of each that is at
/// hand, and what is on disk of all. What was said of such a job is durable, together with its
/// ticket, so that it goes on after a crash of either side, from Offer on a new stream. It sends
/// nothing and computes nothing: provider::Jobs does. Thread-safety: the loop's thread.
class SerialJobs {
 public:
  struct Dependencies {
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;
    Purse& purse;
    std::size_t kept_max = limits::kRolloutsKeptMax;
  };
  /// A job at hand.
  struct Live {
    core::Digest id{};
    std::shared_ptr<rollout::Engine> engine;
    std::optional<rollout::RolloutProvider> provider;  // once the engine is there
    bool is_new = false;                               // not in the store yet
    bool is_busy = true;                               // off the loop
    bool is_asked_again = false;                       // meanwhile, on a new stream
    std::uint64_t used = 0;
    std::uint64_t excused = 0;  // the step before we were gone: its delay may be ours
  };
  using LivePtr = std::shared_ptr<Live>;

  explicit SerialJobs(const Dependencies& deps) : deps_(deps), late_(deps_.store) {}

  /// Null: it is not at hand.
  LivePtr find(const core::Digest& job) const;
  /// The same for who says something of it. Error: kUnavailable (it is not at hand, or busy).
  core::Result<LivePtr> at_hand(const core::Digest& job);
  /// Whether it was begun, now or earlier.
  bool is_known(const core::Digest& job);

  /// Makes room where need be. At hand: whoever has not been asked for longest can be taken up
  /// again. In the store: the oldest goes whose last step is signed, or else the oldest that is not
  /// at hand, as its gateway has few at work; none with undecided tickets. The job is busy until
  /// its user says so. Errors: kResourceExhausted (the store's jobs), kUnavailable (all are
  /// at work), the store's.
  core::Result<LivePtr> take_up(const core::Digest& job);
  /// With its engine, anew or from the store. Errors: rollout::RolloutProvider's; then drop it.
  core::Result<void> begin(Live& live, const rpc::Offer& offer,
                           std::shared_ptr<rollout::Engine> engine);
  /// It stays in the store.
  void drop(const core::Digest& job);

  /// The commitment, if it has been made; nothing: the step is to be computed. One that the client
  /// has not signed for so long that its round is closed earns no ticket, and too many of those are
  /// refused. Errors: rollout::RolloutProvider::asked's, kFailedPrecondition.
  core::Result<std::optional<receipt::Commit>> asked(Live& live, const receipt::Begin& begin);
  /// Durable when it returns, with its ticket. After an error the job must be dropped: what failed
  /// to be written is in memory, and must not be said.
  core::Result<receipt::Commit> commit(Live& live, const receipt::Begin& begin,
                                       receipt::Values outputs);
  /// Durable likewise; after an error the job must be dropped.
  core::Result<receipt::Deliver> countersign(Live& live, const receipt::Countersign& message);

 private:
  core::Result<void> make_room();
  core::Result<void> make_room_in_store();
  bool is_finished(const core::Digest& job);
  /// The last step's ticket comes to nothing. Error: kFailedPrecondition, too many before it.
  core::Result<void> note_late(const Live& live);
  core::Result<receipt::Deliver> take_signature(Live& live, const receipt::Countersign& message);

  Dependencies deps_;
  LateSteps late_;
  std::uint64_t uses_ = 0;
  std::map<core::Digest, LivePtr> live_;
  std::set<core::Digest> at_work_;  // jobs with steps since we are there
};

}  // namespace commensal::provider
