// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>
#include <commensal/serve/gateway/rollout_plan.hpp>
#include <commensal/serve/gateway/till.hpp>
#include <commensal/verify/rollout/client.hpp>

namespace commensal::gateway {

/// Of one rollout's steps, as far as the receipt book keeps them.
struct StepAudits {
  std::set<std::uint64_t> open;  // drawn and not done
  std::uint64_t matched = 0;
  std::set<std::uint64_t> mismatches;
};

/// How a rollout stands.
struct RolloutStatus {
  RolloutEntry entry;
  std::uint64_t steps_done = 0;  // delivered
  core::Digest final_root{};     // of the last one's outputs; zero before step 1
  StepAudits audits;
};

/// The gateway's side of jobs whose outputs are fed back: rollout::ClientJob of each, driven
/// step by step over the provider's stream. Each delivered step is a receipt in the book like any
/// other (event::Delivered). What it has signed and what was delivered is on disk before the next
/// word, so that all running rollouts go on after a crash of either side, by themselves. A rollout
/// stays with its provider: while that is away, it waits. Thread-safety: the loop's thread.
class Rollouts {
 public:
  using StreamId = Roster::StreamId;
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;  // signs for the consumers' accounts
    crypto::Address auditor;       // of private models
    Roster& roster;
    ModelHub& hub;
    Lottery& lottery;
    ReceiptBook& book;
    Till& till;
    EventQueue& events;
    std::int64_t silence_ms_max = 0;
    std::size_t kept_max = limits::kRolloutsKeptMax;  // the oldest that are over make room
    std::size_t account_max = limits::kRolloutsLiveMax;  // running, of one account
  };
  explicit Rollouts(const Dependencies& deps);

  /// Takes up the running rollouts; call once before the rest.
  core::Result<void> open();

  /// Durable when it returns. Errors: kNotFound (model), kInvalidArgument, kUnavailable (no
  /// provider, with the reason), kResourceExhausted (bounds).
  core::Result<RolloutStatus> create(RolloutRequest request);
  /// Error: kNotFound.
  core::Result<RolloutStatus> status(const core::Digest& rollout) const;
  /// Of an account, or of all (""), the newest first, at most `count`.
  std::vector<RolloutStatus> list(const std::string& account, std::size_t count) const;
  /// What was delivered of a step. Errors: kNotFound, kDataLoss.
  core::Result<rollout::StepRecord> step(const core::Digest& rollout, std::uint64_t step) const;
  core::Result<rollout::JobRecord> record(const core::Digest& rollout) const;
  /// `then` is called once, as soon as a step is delivered, the rollout's state or one of its
  /// audits changes, or `wait_ms` have passed. Error: kResourceExhausted.
  core::Result<void> wait(const core::Digest& rollout, std::int64_t wait_ms,
                          std::function<void()> then);

  void on_connected(const crypto::Address& provider);
  /// It pauses no longer.
  void on_resume(const crypto::Address& provider);
  void on_close(StreamId stream);
  /// It gets no more work: its rollouts end here.
  void on_banned(const crypto::Address& provider, const std::string& why);
  /// An audit was drawn, or has come to its end; one that is of no rollout is passed over.
  void on_audit(const ReceiptRecord& record);
  /// Messages of providers; those about jobs that are no rollouts are passed over.
  void on_commit(StreamId stream, const rpc::Commit& message);
  void on_deliver(StreamId stream, const rpc::Deliver& message);
  void on_refuse(StreamId stream, const rpc::Refuse& message);

 private:
  enum class Phase : std::uint8_t { kAway, kReady, kAsked };
  /// A running rollout.
  struct Live {
    RolloutEntry entry;
    std::optional<rollout::ClientJob> client;
    StreamId stream = 0;  // of kReady and later
    Phase phase = Phase::kAway;
    bool is_offered = false;      // on this stream
    std::uint64_t delivered = 0;  // steps, in this life of the gateway
    bool is_missed = false;       // its provider went away; nothing was delivered since
    std::uint64_t words = 0;      // said so far: a deadline counts for its own only
    std::uint64_t reserved = 0;   // steps that are not paid yet (Till)
    std::string hindrance;        // why it waits, though its provider is there
  };
  using LivePtr = std::shared_ptr<Live>;
  struct Waiter {
    core::Digest rollout{};
    std::function<void()> then;
  };
  core::Result<void> admit(const RolloutRequest& request);
  core::Result<void> make_room();
  core::Result<crypto::Address> choose_provider(const ModelVersion& model) const;
  core::Result<RolloutStatus> begin(const RolloutPlan& plan);
  void load(const RolloutEntry& entry);
  rollout::ClientJob::Dependencies client_deps(const RolloutEntry& entry) const;
  RolloutStatus status_of(const RolloutEntry& entry) const;
  const StepAudits& audits(const core::Digest& rollout) const;
  void count(const ReceiptRecord& record);

  std::vector<LivePtr> rollouts_of(const crypto::Address& provider) const;
  /// The live rollout that this stream may speak of.
  Live* at(StreamId stream, const core::Digest& rollout);
  /// What is asked of a provider counts where the next job is placed.
  void set_phase(Live& live, Phase phase);
  static bool is_paused(Live& live, const Roster::Peer& peer);
  void start(Live& live);
  void ask(Live& live);
  void say(Live& live, rpc::ToProvider message);
  void watch(const Live& live);
  void watch_absence(const Live& live);
  void retry_later(const Live& live);
  void again(Live& live, const core::Error& why);
  void fail(Live& live, RolloutState state, const std::string& why);
  void finish(Live& live);
  void commit(StreamId stream, const rpc::Commit::Item& item);
  /// Nothing where it cannot be paid: it is asked for again, later.
  core::Result<std::optional<ReceiptRecord>> keep_delivery(Live& live, const rpc::Deliver& message);
  void close(const RolloutEntry& entry);
  void wake(const core::Digest& rollout);
  /// What the next step may cost and win is there.
  core::Result<void> afford(const Live& live) const;

  Dependencies deps_;
  RolloutBook book_;
  std::map<core::Digest, StepAudits> audits_;
  std::map<core::Digest, LivePtr> live_;
  std::map<std::uint64_t, Waiter> waiters_;
  std::uint64_t last_waiter_ = 0;
};

}  // namespace commensal::gateway
