// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>
#include <utility>

namespace commensal::gateway {
namespace {

using core::Result;
using protocol::Amount;
using protocol::Outcome;
using risk::Event;
using risk::EventKind;

/// Amounts for advice: at the end of their range they stay there.
void add(Amount& sum, const Amount& more) {
  sum = sum.plus(more).value_or(Amount::from_words(~std::uint64_t{0}, ~std::uint64_t{0}));
}

std::optional<Outcome> outcome_of(AuditState audit) {
  if (audit == AuditState::kMatched) return Outcome::kMatch;
  if (audit == AuditState::kMismatched) return Outcome::kMismatch;
  return {};
}

double pay_of(const protocol::Receipt& receipt) {
  if (receipt.round == protocol::kNoDraw) return 0;
  const protocol::Job& job = receipt.job;
  const std::uint64_t top = protocol::Reader(job.win_threshold, "threshold").u64();
  return risk::units_of(job.face_value) * std::ldexp(static_cast<double>(top), -64);
}

class Teller {
 public:
  explicit Teller(RiskFacts& facts) : facts_(facts) {}

  Event& tell(EventKind kind) {
    Event& event = facts_.events.emplace_back();
    event.provider = facts_.provider;
    event.number = facts_.events.size() - 1;
    event.at_ms = now_ms_;
    event.kind = kind;
    return event;
  }
  /// The gateway's clock may have been set back in between.
  void begin(const SeenAnswer& answer) {
    const std::int64_t at_ms = std::max<std::int64_t>(answer.delivered_ms, 0);
    now_ms_ = std::max(now_ms_, static_cast<std::uint64_t>(at_ms));
  }
  void tell(const SeenAnswer& answer) {
    begin(answer);
    ++answers_;
    const auto outcome = outcome_of(answer.audit);
    if (!outcome) return;
    tell_answers();
    tell(EventKind::kAudit).outcome = *outcome;
  }
  void tell_answers() {
    if (answers_ > 0) tell(EventKind::kAnswers).count = answers_;
    answers_ = 0;
  }

 private:
  RiskFacts& facts_;
  std::uint64_t now_ms_ = 0;
  std::uint64_t answers_ = 0;
};

}  // namespace

Amount stake_of(const ledger::State& state, const crypto::Address& provider) {
  Amount stake = state.balance(provider, ledger::AccountKind::kStake);
  const auto& rows = state.announcements.rows();
  for (auto row = rows.lower_bound({provider, 0}); row != rows.end(); ++row) {
    if (row->first.owner != provider) break;
    if (row->second.from == ledger::AccountKind::kStake) add(stake, row->second.amount);
  }
  return stake;
}

SeenAnswer seen_of(const ReceiptRecord& record) {
  return {record.number, record.receipt.job.provider, record.delivered_ms,
          record.audit,  pay_of(record.receipt),      protocol::ticket_id(record.receipt.body())};
}

RiskFacts facts_in(const std::deque<SeenAnswer>& answers, const ledger::State& state,
                   const crypto::Address& provider) {
  RiskFacts facts{provider, {}, 0};
  Teller teller(facts);
  bool has_begun = false;
  Amount escrowed;
  const auto begin = [&] {
    if (!std::exchange(has_begun, true)) {
      teller.tell(EventKind::kStake).amount = stake_of(state, provider);
    }
  };
  for (const SeenAnswer& answer : answers) {
    if (answer.provider != provider) continue;
    if (!has_begun) teller.begin(answer);
    begin();
    teller.tell(answer);
    facts.pay = answer.pay;
    const auto* claim = state.claims.find(answer.ticket);
    const bool is_its = claim != nullptr && claim->status == ledger::ClaimStatus::kOpen &&
                        claim->holder == provider;  // what it has sold it cannot lose
    if (is_its) add(escrowed, claim->face);
  }
  begin();
  teller.tell_answers();
  teller.tell(EventKind::kEscrow).amount = escrowed;
  return facts;
}

Result<RiskFacts> risk_facts(ReceiptBook& book, const ledger::State& state,
                             const crypto::Address& provider) {
  COMMENSAL_ASSIGN(const auto records, book.list("", limits::kRiskReceiptsMax));
  std::deque<SeenAnswer> answers;
  for (const ReceiptRecord& record : records) answers.push_front(seen_of(record));
  return facts_in(answers, state, provider);
}

Result<risk::Record> record_of(const RiskFacts& facts, const risk::Prior& prior) {
  COMMENSAL_TRY(prior.validity());
  risk::Record record(facts.provider, prior);
  for (const Event& event : facts.events) COMMENSAL_TRY(record.apply(event));
  return record;
}

risk::Policy policy_of(const RiskFacts& facts, const AuditTerms& terms) {
  constexpr double kFloorMin = 1e-9;  // of the desk
  risk::Policy policy;
  policy.lost_share = ledger::kIsolatedMismatchPm / 1000.0;
  policy.audit_floor = std::max(terms.floor, kFloorMin);
  policy.lazy.pay = policy.lazy.step_cost = facts.pay;
  policy.lazy.paid_unaudited = false;
  policy.malice.step_cost = facts.pay;
  return policy;
}

risk::Use use_of(const RiskFacts& facts, const AuditTerms& terms) {
  risk::Use use;
  use.loss = terms.loss * facts.pay;
  use.redo_cost = terms.redo_cost * facts.pay;
  use.audit_cost = terms.audit_cost * facts.pay;
  return use;
}

Honesty honesty_of(const Amount& stake, double pay, const AuditTerms& terms) {
  const risk::Policy policy = policy_of({{}, {}, pay}, terms);
  const auto needed = [&](double staked) {
    const risk::Deterrent deterrent{policy.lost_share * staked, 0, policy.collusion};
    return policy.margin * std::max(risk::lazy_probability(policy.lazy, deterrent).value,
                                    risk::malice_probability(policy.malice, deterrent).value);
  };
  const double staked = risk::units_of(stake);
  // What is needed falls with the stake as 1 / stake.
  return {pay, policy.lost_share * staked, needed(staked), pay > 0 ? needed(pay) * pay : 0};
}

Result<risk::Assessment> assess(const RiskFacts& facts, const AuditTerms& terms,
                                std::uint64_t now_ms) {
  COMMENSAL_ASSIGN(const risk::Record record, record_of(facts, risk::Prior()));
  return risk::assess(record, now_ms, policy_of(facts, terms), {{}, use_of(facts, terms), {}});
}

}  // namespace commensal::gateway
