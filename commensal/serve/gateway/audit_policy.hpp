// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <commensal/serve/gateway/scheduler.hpp>
#include <commensal/serve/gateway/step_terms.hpp>
#include <map>
#include <set>
#include <span>

namespace commensal::gateway {

/// Expected value of an answer's ticket under these settings, in units.
double expected_pay(const MoneyConfig& money);

/// How often each provider's answers are audited: what the risk desk says of the facts that the
/// gateway has, and never less than the floor. The desk is asked when facts have come in, at most
/// once in kRefreshMs for a provider (kNewcomerMs where it is new), and never while somebody waits
/// for an answer; in between its last word holds. Whoever has given no answer that earns is new,
/// and audited whatever it does. Thread-safety: the loop's thread.
class AuditPolicy {
 public:
  static constexpr std::int64_t kRefreshMs = 1000;
  static constexpr std::int64_t kNewcomerMs = 20;  // of whom little is to be looked at

  /// `by_risk` false: the floor is all. Loop, clock and queue outlive this object.
  AuditPolicy(core::Loop& loop, const core::Clock& clock, EventQueue& events,
              const AuditTerms& terms, bool by_risk)
      : loop_(loop), clock_(clock), events_(events), terms_(terms), by_risk_(by_risk) {}
  /// Called whenever the desk was asked: who was new may be known now. Set before the rest.
  void on_asked(std::function<void()> heard) { on_asked_ = std::move(heard); }

  /// Takes up the newest limits::kRiskReceiptsMax answers, oldest first; call once, before the
  /// rest. `ledger` outlives this object. Error: the book's.
  core::Result<void> open(ReceiptBook& book, const ledger::State& ledger);

  /// Steps of rollouts say nothing: their consumer chooses them, and their provider whether they
  /// earn.
  void on_receipt(const ReceiptRecord& record);
  /// Its audit has an outcome, or will have none.
  void on_verdict(const ReceiptRecord& record);
  /// Something else about it has changed: its stake, its winnings.
  void on_change(const crypto::Address& provider);

  /// That an answer of this provider is audited, its ticket's win apart.
  double probability(const crypto::Address& provider) const;
  /// Whether the step that this receipt is of is audited, drawn now: of a job whose consumer has
  /// chosen how often, so often, or as often as its provider's stake asks for, and its first step
  /// where there are many.
  bool draws(const protocol::Receipt& receipt, std::optional<double> chosen, core::Rng& rng) const;
  /// An answer of it is here and will be a receipt, or nothing (on_kept).
  void on_made(const crypto::Address& provider) { ++awaited_[provider]; }
  void on_kept(const crypto::Address& provider);
  /// How the desk bears on who gets work: who may be wrong counts as slower, and of who is new no
  /// more is open at once, at work or waiting for an audit, than its stake covers. Nothing where
  /// the floor is all or answers earn nothing.
  void weigh(std::span<Candidate> candidates) const;

  /// How often a step of this rollout is audited: as its consumer has `chosen`, or so often that
  /// a false one does not pay its provider, which is the gateway's own cost.
  double step_probability(const protocol::Job& job, double chosen) const;
  /// Steps of its rollouts that may be at work or wait for their audits; at least one.
  std::uint64_t open_steps_max(const crypto::Address& provider) const;
  /// Why its stake makes good no step of a rollout, however often they are audited, or "".
  std::string step_refusal(const crypto::Address& provider) const;

  /// What is known of it, out of memory.
  RiskFacts facts(const crypto::Address& provider) const;
  /// Asks the desk now: what it says of these facts holds from now on.
  double ask(const RiskFacts& facts);

  const AuditTerms& terms() const { return terms_; }
  bool by_risk() const { return by_risk_; }

 private:
  struct Word {
    double probability = 0;
    double right = 0;  // that an answer is
    double pay = 0;    // that was asked with
  };
  void refresh();
  std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }
  bool is_newcomer(const crypto::Address& provider) const { return probability(provider) >= 1; }
  /// Nothing where the floor is all or steps earn nothing.
  std::optional<StepTerms> step_terms_of(const crypto::Address& provider,
                                         std::uint64_t spoilt) const;
  /// Wrong answers that its stake would make good; one at least, or nobody would be known ever.
  double covered(const crypto::Address& provider) const;
  void set_audit(SeenAnswer& answer, AuditState audit);

  core::Loop& loop_;
  const core::Clock& clock_;
  EventQueue& events_;
  const ledger::State* ledger_ = nullptr;  // after open()
  const AuditTerms terms_;
  const bool by_risk_;
  std::deque<SeenAnswer> answers_;                    // numbers ascend
  std::map<crypto::Address, std::uint64_t> awaited_;  // audits of answers_, and what is made
  std::map<crypto::Address, Word> words_;
  std::set<crypto::Address> stale_;
  std::function<void()> on_asked_ = [] {};
  std::optional<std::int64_t> due_ms_;  // of a refresh that is on its way
};

}  // namespace commensal::gateway
