// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/gateway/fair_queue.hpp>
#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>
#include <commensal/serve/gateway/rollout_plan.hpp>
#include <commensal/serve/gateway/shares.hpp>
#include <commensal/serve/gateway/steps.hpp>
#include <commensal/serve/gateway/till.hpp>
#include <commensal/verify/rollout/retention.hpp>
#include <deque>

namespace commensal::gateway {

/// Of one rollout's steps, as far as the receipt book keeps them.
struct StepAudits {
  std::set<std::uint64_t> open;  // drawn and not done
  std::uint64_t matched = 0;
  std::set<std::uint64_t> mismatches;
  /// So many from the first on have matched without a gap, and these beyond it.
  std::uint64_t confirmed = 0;
  std::set<std::uint64_t> confirmed_later;
};

/// How a rollout stands.
struct RolloutStatus {
  RolloutEntry entry;
  StepAudits audits;
  /// Its first steps, on whose outputs another rollout can go on: all that are delivered before the
  /// first whose audit is open or, once its provider was caught, those that audits have confirmed
  /// without a gap.
  std::uint64_t trusted_steps = 0;
};

/// Which rollouts there are, and when the next step of each is asked for: jobs that stay with their
/// provider once it has begun. While that is away they wait; they go on after a crash of either
/// side by themselves. Steps takes each step to its provider and back, Deliveries into the book.
/// Thread-safety: the loop's thread.
class Rollouts {
 public:
  using StreamId = Roster::StreamId;
  struct Bounds {
    std::size_t kept_max = limits::kRolloutsKeptMax;     // the oldest that are over make room
    std::size_t account_max = limits::kRolloutsLiveMax;  // running, of one account
    std::uint64_t bytes_max = limits::kGatewayRolloutBytesMax;  // of all that are kept
  };
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    store::JointStore& store;
    const crypto::SecretKey& key;  // signs for the consumers' accounts
    crypto::Address auditor;       // the gateway's own
    Roster& roster;
    ModelHub& hub;
    Lottery& lottery;
    const AuditPolicy& audit_policy;
    const Bank& bank;
    ReceiptBook& book;
    Till& till;
    EventQueue& events;
    Steps& steps;
    Shares& shares;
    const PrivacyAuditors& privacy;
    Accounts& accounts;
    Bounds bounds;
  };
  explicit Rollouts(const Dependencies& deps);

  /// Takes up the running rollouts; call once before the rest.
  core::Result<void> open();

  /// Durable when it returns. Errors: kNotFound (model), kInvalidArgument, kUnavailable (no
  /// provider, with the reason), kResourceExhausted (bounds).
  core::Result<RolloutStatus> create(RolloutRequest request);
  /// No more steps of it are asked for; what is committed to is delivered and paid. Of one that is
  /// over nothing changes. Durable when it returns. Error: kNotFound.
  core::Result<RolloutStatus> cancel(const core::Digest& rollout);
  /// Has the account's oldest rollouts that are over go until at most so many bytes are kept of
  /// all, as far as they may. Returns how many are kept then. Errors: the store's.
  core::Result<std::int64_t> shrink(const std::string& account, std::int64_t most);
  /// Error: kNotFound.
  core::Result<RolloutStatus> status(const core::Digest& rollout) const;
  /// Of an account, or of all (""), whose keys begin with `key`, the newest first, at most `count`.
  std::vector<RolloutStatus> list(const std::string& account, std::size_t count,
                                  const std::string& key = "") const;
  /// What was delivered of a step. Errors: kNotFound, kDataLoss.
  core::Result<rollout::StepRecord> step(const core::Digest& rollout, std::uint64_t step) const;
  core::Result<rollout::JobRecord> record(const core::Digest& rollout) const;
  /// Whether one that runs needs this file of a model.
  bool needs_model(const core::Digest& content) const;
  /// `then` is called once, as soon as a step is delivered, the rollout's state or one of its
  /// audits changes, or `wait_ms` have passed. Error: kResourceExhausted.
  core::Result<void> wait(const core::Digest& rollout, std::int64_t wait_ms,
                          std::function<void()> then);

  /// It has connected, or pauses no longer.
  void on_available(const crypto::Address& provider);
  /// A provider has left. Call after Roster::leave.
  void on_close();
  /// It gets no more work: its rollouts end here.
  void on_banned(const crypto::Address& provider, const std::string& why);
  /// An audit was drawn, or has come to its end; one that is of no rollout is passed over.
  void on_audit(const ReceiptRecord& record);
  /// Of a rollout's job.
  void on_made(const event::StepMade& made);
  void on_lost(const event::StepLost& lost);
  void on_kept(const event::StepKept& kept);

 private:
  /// A running rollout.
  struct Live {
    RolloutEntry entry;
    WorkPtr work;
    bool is_asked = false;            // a step is on its way
    bool is_in_line = false;          // in line_
    bool is_ours = false;             // what it waits for is not its provider
    std::uint64_t delivered = 0;      // steps, in this life of the gateway
    bool is_missed = false;           // its provider went away; nothing was delivered since
    std::uint64_t turns = 0;          // so far: what was planned for later counts in its own only
    std::uint64_t reserved = 0;       // steps that are not kept yet (Till)
    std::string hindrance;            // why it waits, though its provider is there
    std::set<crypto::Address> tried;  // would not begin it
  };
  using LivePtr = std::shared_ptr<Live>;
  struct Waiter {
    core::Digest rollout{};
    std::function<void()> then;
  };
  core::Result<void> admit(const RolloutRequest& request);
  /// For so many more, and with so many bytes less; of an account, or of all (""). Error:
  /// kResourceExhausted (not enough may go).
  core::Result<void> make_room(std::size_t more, std::uint64_t bytes_less,
                               const std::string& account);
  /// That so many bytes more may be kept of the account. Error: kResourceExhausted.
  core::Result<void> fit(const std::string& account, std::uint64_t more);
  core::Result<void> fit_next_state(const Live& live);
  void note_bytes(const RolloutEntry& entry);
  void settle(const core::Digest& job, const std::string& account);
  void keep_late(const event::StepKept& kept);
  core::Result<crypto::Address> choose_provider(const ModelVersion& model,
                                                const std::string& privacy_class,
                                                const std::set<crypto::Address>& tried) const;
  core::Result<RolloutStatus> begin(const RolloutPlan& plan);
  core::Result<WorkPtr> start(const RolloutEntry& entry, rollout::JobRecord record);
  void load(const RolloutEntry& entry);
  WorkPtr work_of(const RolloutEntry& entry, rollout::ClientJob client) const;
  rollout::ClientJob::Dependencies client_deps(const RolloutEntry& entry) const;
  static void note_progress(Live& live, const rollout::ClientJob& client);
  RolloutStatus status_of(const RolloutEntry& entry) const;
  std::uint64_t trusted_steps(const RolloutEntry& entry) const;
  const StepAudits& audits(const core::Digest& job) const;
  void count(const ReceiptRecord& record);

  /// The live rollout that the job is of.
  LivePtr of_job(const core::Digest& job) const;
  std::vector<LivePtr> rollouts_of(const crypto::Address& provider) const;
  /// Asks for the next step, unless something is in the way: then who takes that away, or a timer,
  /// calls this again.
  void go_on(Live& live);
  /// Its provider may be shown its next step; else it waits, moves, or is over.
  bool may_show(Live& live, const Roster::Peer& peer);
  /// Its account has as many jobs at its provider as it may while others ask (Shares): it waits in
  /// line, where accounts take turns.
  bool must_wait(Live& live);
  /// As many steps of its provider are open as the stake makes good: it waits until there are
  /// fewer, behind the provider's others that do.
  bool must_hold(Live& live);
  std::uint64_t open_steps(const crypto::Address& provider) const;
  /// Those that hold, as far as there is room again.
  void serve_held(const crypto::Address& provider);
  void serve_held_later(const crypto::Address& provider);
  void ended(Live& live);
  void place_some();
  /// What the next step may cost and win is there.
  core::Result<void> afford(const Live& live) const;
  void miss(Live& live);
  void watch_absence(const Live& live);
  void retry_later(Live& live);
  void again(Live& live, const core::Error& why);
  core::Result<void> move(Live& live);
  void refused(Live& live, const core::Error& why, std::string_view code = {});
  /// `code`: RolloutEntry::reason_code.
  void fail(Live& live, RolloutState state, const std::string& why, std::string_view code = {});
  void finish(Live& live);
  void close(RolloutEntry entry);
  void wake(const core::Digest& rollout);

  Dependencies deps_;
  RolloutBook book_;
  std::map<core::Digest, StepAudits> audits_;  // by job
  rollout::KeptBytes kept_bytes_;              // of jobs, by account
  std::map<core::Digest, LivePtr> live_;
  std::set<core::Digest> outlived_;  // jobs that are over with a step on its way, which is reserved
  FairQueue<core::Digest> line_;
  std::map<crypto::Address, std::uint64_t> drawn_;            // audits open, by provider
  std::map<crypto::Address, std::deque<core::Digest>> held_;  // rollouts, by provider
  std::map<std::uint64_t, Waiter> waiters_;
  std::uint64_t last_waiter_ = 0;
};

}  // namespace commensal::gateway
