// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/serve/gateway/work.hpp>
#include <map>
#include <vector>

namespace commensal::gateway {

/// What is said to providers of steps, and what they answer, whatever the jobs' kind:
///
///   ask() -> Offer, or Begin of a later step -> Commit, checked -> countersigned, owed, durable ->
///   Countersign -> Deliver, checked -> event::StepMade
///
/// or event::StepLost. What comes together shares one signature and one write. Who is to be asked,
/// and what follows from a loss, is for Dispatcher and Rollouts. Thread-safety: the loop's thread.
class Steps {
 public:
  using StreamId = Roster::StreamId;
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    store::JointStore& store;
    const crypto::SecretKey& key;  // signs for the consumers' accounts
    Roster& roster;
    Lottery& lottery;
    EventQueue& events;
  };
  Steps(const Dependencies& deps, std::int64_t silence_ms_max,
        std::int64_t ops_max = limits::kStepOpsMax)
      : deps_(deps), silence_ms_max_(silence_ms_max), ops_max_(ops_max) {}

  /// Asks a provider that is there for the job's next step, or for what its last signature opens.
  /// Precondition: the job is not at hand here, and not finished.
  void ask(const WorkPtr& work, Roster::Peer& peer);
  /// Jobs at hand of a stream that are not committed to yet.
  std::vector<core::Digest> uncommitted(StreamId stream) const;
  bool is_uncommitted(StreamId stream, const core::Digest& job) const;
  bool is_committed(const core::Digest& job) const {
    const auto found = running_.find(job);
    return found != running_.end() && found->second.is_committed;
  }
  /// Jobs at hand that are signed for: what they open is on its way.
  std::size_t awaited() const { return awaited_; }
  /// A pause of its provider excuses the job no longer. Its stream, if that one pauses now.
  std::optional<StreamId> end_patience(const core::Digest& job);
  /// Nobody waits for it any longer, and no event tells of it, if it is at hand: whether it was.
  bool withdraw(const core::Digest& job);
  /// A job at hand goes to its end and has its receipt, but nobody waits for it or pays for it.
  void disown(const core::Digest& job);

  /// Messages of providers; those about jobs that are not at hand are passed over.
  void on_commit(StreamId stream, const rpc::Commit& message);
  void on_deliver(StreamId stream, const rpc::Deliver& message);
  void on_refuse(StreamId stream, const rpc::Refuse& message);
  /// Call after Roster::leave.
  void on_close(StreamId stream);

 private:
  struct Running {
    WorkPtr work;
    Trip trip;
    std::uint64_t number = 0;  // of its question: a silence counts for its own only
    bool is_committed = false;
    bool is_signed = false;
    std::int64_t heard_ms = 0;  // asked, committed, or signed for
    std::int64_t heard_ns = 0;  // asked, or signed for
  };
  using Jobs = std::map<core::Digest, Running>;

  /// To be signed with what else comes before the loop goes round.
  struct Committed {
    core::Digest job;
    std::uint64_t number = 0;
    protocol::ReceiptBody body;
  };

  Running* find(StreamId stream, const core::Digest& job);
  core::Result<protocol::ReceiptBody> accept(Running& running, const receipt::Commit& item);
  /// Not broken but by us where its round has closed meanwhile, as after a pause of ours.
  static Loss loss_of_round(const protocol::Job& job);
  core::Result<void> check_round(const protocol::Job& job, std::uint64_t round) const;
  void turn_down(const core::Digest& job, Loss loss, core::Error error);
  std::vector<Committed> take_committed();
  void countersign();
  void on_countersigned(const std::vector<Committed>& batch,
                        const std::vector<rpc::Countersign::Item>& items,
                        const core::Result<void>& kept);
  Running take(const core::Digest& job);
  void lose(const core::Digest& job, Loss loss, core::Error error, bool is_state_refused = false);
  void watch(const core::Digest& job, std::uint64_t number, std::int64_t wait_ms);
  static bool may_be_silent(const Running& running, const Roster::Peer& peer);
  /// Since when nothing was heard that says that the step is on its way.
  std::int64_t silent_since_ms(const Running& running, const Roster::Peer& peer) const;
  static std::string waited_for(const Running& running);
  std::int64_t now_ms() const { return deps_.clock.monotonic_ns() / 1'000'000; }
  double ms_since(std::int64_t ns) const {
    return static_cast<double>(deps_.clock.monotonic_ns() - ns) / 1e6;
  }

  Dependencies deps_;
  const std::int64_t silence_ms_max_;
  const std::int64_t ops_max_;  // of each step
  std::uint64_t asked_ = 0;
  Jobs running_;  // by id
  std::size_t awaited_ = 0;
  std::vector<Committed> committed_;
  protocol::KnownSignatures known_;
};

}  // namespace commensal::gateway
