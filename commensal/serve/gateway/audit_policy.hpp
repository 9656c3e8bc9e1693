// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <map>
#include <set>

namespace commensal::gateway {

/// How often each provider's answers are audited: what the risk desk says of the facts that the
/// gateway has, and never less than the floor. The desk is asked when facts have come in, at most
/// once in kRefreshMs for a provider, and never while somebody waits for an answer; in between its
/// last word holds. Thread-safety: the loop's thread.
class AuditPolicy {
 public:
  static constexpr std::int64_t kRefreshMs = 1000;

  /// `by_risk` false: the floor is all. Loop, clock and queue outlive this object.
  AuditPolicy(core::Loop& loop, const core::Clock& clock, EventQueue& events,
              const AuditTerms& terms, bool by_risk)
      : loop_(loop), clock_(clock), events_(events), terms_(terms), by_risk_(by_risk) {}

  /// Takes up the newest limits::kRiskReceiptsMax answers, oldest first; call once, before the
  /// rest. `ledger` outlives this object. Error: the book's.
  core::Result<void> open(ReceiptBook& book, const ledger::State& ledger);

  /// Steps of rollouts say nothing: their consumer chooses how often they are audited, and their
  /// provider whether they earn.
  void on_receipt(const ReceiptRecord& record);
  /// Its audit has an outcome.
  void on_verdict(const ReceiptRecord& record);
  /// Something else about it has changed: its stake, its winnings.
  void on_change(const crypto::Address& provider);

  /// That an answer of this provider is audited, its ticket's win apart.
  double probability(const crypto::Address& provider) const;
  /// Whether the step that this receipt is of is audited, drawn now: of a job whose consumer has
  /// chosen how often, so often, and its first step where there are many.
  bool draws(const protocol::Receipt& receipt, std::optional<double> chosen, core::Rng& rng) const;
  /// What is known of it, out of memory.
  RiskFacts facts(const crypto::Address& provider) const {
    return facts_in(answers_, *ledger_, provider);
  }
  /// Asks the desk now: what it says of these facts holds from now on.
  double ask(const RiskFacts& facts);

  const AuditTerms& terms() const { return terms_; }
  bool by_risk() const { return by_risk_; }

 private:
  struct Word {
    double probability = 0;
    double pay = 0;  // that was asked with
  };
  void refresh();

  core::Loop& loop_;
  const core::Clock& clock_;
  EventQueue& events_;
  const ledger::State* ledger_ = nullptr;  // after open()
  const AuditTerms terms_;
  const bool by_risk_;
  std::deque<SeenAnswer> answers_;  // numbers ascend
  std::map<crypto::Address, Word> words_;
  std::set<crypto::Address> stale_;
  bool is_due_ = false;  // a refresh is on its way
};

}  // namespace commensal::gateway
