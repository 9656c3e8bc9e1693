// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/audit_policy.hpp>
#include <limits>
#include <utility>

namespace commensal::gateway {

double expected_pay(const MoneyConfig& money) {
  return risk::units_of(money.face_value) * money.win_probability;
}

core::Result<void> AuditPolicy::open(ReceiptBook& book, const ledger::State& ledger) {
  ledger_ = &ledger;
  COMMENSAL_ASSIGN(const auto records, book.list("", limits::kRiskReceiptsMax));
  for (const ReceiptRecord& record : records) {
    answers_.push_front(seen_of(record));
    if (record.audit == AuditState::kDrawn) ++awaited_[record.receipt.job.provider];
    if (by_risk_) stale_.insert(record.receipt.job.provider);
  }
  refresh();
  return {};
}

void AuditPolicy::on_receipt(const ReceiptRecord& record) {
  if (record.receipt.job.traits().is_kept) return;
  const SeenAnswer seen = answers_.emplace_back(seen_of(record));
  if (seen.audit == AuditState::kDrawn) ++awaited_[seen.provider];
  if (answers_.size() > limits::kRiskReceiptsMax) {
    set_audit(answers_.front(), AuditState::kNotDrawn);
    answers_.pop_front();
  }
  // What an answer earns decides on what cheating saves.
  const auto word = words_.find(seen.provider);
  if (word == words_.end() || word->second.pay != seen.pay) on_change(seen.provider);
}

void AuditPolicy::on_verdict(const ReceiptRecord& record) {
  const auto found = std::ranges::lower_bound(answers_, record.number, {}, &SeenAnswer::number);
  if (found != answers_.end() && found->number == record.number) set_audit(*found, record.audit);
  on_change(record.receipt.job.provider);
}

void AuditPolicy::on_change(const crypto::Address& provider) {
  if (!by_risk_) return;
  stale_.insert(provider);
  const std::int64_t at_ms = now_ms() + (is_newcomer(provider) ? kNewcomerMs : kRefreshMs);
  if (due_ms_ && *due_ms_ <= at_ms) return;
  due_ms_ = at_ms;
  loop_.after(at_ms - now_ms(), [this, at_ms] {
    if (due_ms_ == at_ms) refresh();
  });
}

void AuditPolicy::set_audit(SeenAnswer& answer, AuditState audit) {
  const bool was_awaited = std::exchange(answer.audit, audit) == AuditState::kDrawn;
  if (was_awaited && audit != AuditState::kDrawn) on_kept(answer.provider);
}

void AuditPolicy::on_kept(const crypto::Address& provider) {
  const auto awaited = awaited_.find(provider);
  if (awaited != awaited_.end() && --awaited->second == 0) awaited_.erase(awaited);
}

RiskFacts AuditPolicy::facts(const crypto::Address& provider) const {
  RiskFacts facts = facts_in(answers_, *ledger_, provider);
  if (facts.pay == 0) facts.pay = terms_.pay;
  return facts;
}

double AuditPolicy::covered(const crypto::Address& provider) const {
  const double stake = risk::units_of(stake_of(*ledger_, provider));
  return std::max(1.0, stake / (terms_.loss * terms_.pay));
}

void AuditPolicy::weigh(std::span<Candidate> candidates) const {
  if (!by_risk_ || terms_.pay == 0) return;
  for (Candidate& one : candidates) {
    const auto word = words_.find(one.address);
    if (word != words_.end()) one.wrong_cost = terms_.loss * (1 - word->second.right);
    if (!one.excluded.empty() || !is_newcomer(one.address)) continue;
    const auto awaited = awaited_.find(one.address);
    const std::uint64_t open = one.offered + (awaited == awaited_.end() ? 0 : awaited->second);
    if (static_cast<double>(open + 1) <= covered(one.address)) continue;
    one.excluded = fmt::format(
        "is new, and {} answer(s) of it are not audited yet: its stake covers no more", open);
    one.may_come = true;
  }
}

void AuditPolicy::refresh() {
  due_ms_.reset();
  for (const crypto::Address& provider : std::exchange(stale_, {})) ask(facts(provider));
  on_asked_();
}

double AuditPolicy::ask(const RiskFacts& facts) {
  if (!by_risk_) return terms_.floor;
  const auto now_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(clock_.wall_ms(), 0));
  const auto made = assess(facts, terms_, now_ms);
  if (!made) {
    events_.report(made);
    return probability(facts.provider);
  }
  const double said = std::max(terms_.floor, made->audit_probability.value);
  words_[facts.provider] = {said, made->right.value, facts.pay};
  return said;
}

double AuditPolicy::probability(const crypto::Address& provider) const {
  const auto word = words_.find(provider);
  if (word != words_.end()) return word->second.probability;
  return by_risk_ && terms_.pay > 0 ? 1 : terms_.floor;
}

bool AuditPolicy::draws(const protocol::Receipt& receipt, std::optional<double> chosen,
                        core::Rng& rng) const {
  constexpr std::uint64_t kManySteps = 10;
  if (chosen && receipt.step == 1 && receipt.job.steps >= kManySteps) return true;
  return rng.next_unit() <
         (chosen ? step_probability(receipt.job, *chosen) : probability(receipt.job.provider));
}

std::optional<StepTerms> AuditPolicy::step_terms_of(const crypto::Address& provider,
                                                    std::uint64_t spoilt) const {
  if (!by_risk_ || terms_.pay == 0 || ledger_ == nullptr) return std::nullopt;
  return step_terms(stake_of(*ledger_, provider), terms_.pay, spoilt, terms_,
                    is_newcomer(provider));
}

double AuditPolicy::step_probability(const protocol::Job& job, double chosen) const {
  const auto needed = step_terms_of(job.provider, spoilt_by_one(job));
  return needed ? std::clamp(needed->probability, chosen, 1.0) : chosen;
}

std::uint64_t AuditPolicy::open_steps_max(const crypto::Address& provider) const {
  const auto needed = step_terms_of(provider, 1);
  return needed ? needed->open_max : std::numeric_limits<std::uint64_t>::max();
}

std::string AuditPolicy::step_refusal(const crypto::Address& provider) const {
  const auto needed = step_terms_of(provider, 1);
  if (!needed || needed->probability <= 1) return "";
  return fmt::format(
      "has a stake of {}: auditing every step of a rollout would not make a false one a loss",
      protocol::to_text(stake_of(*ledger_, provider)));
}

}  // namespace commensal::gateway
