// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/audit_policy.hpp>
#include <utility>

namespace commensal::gateway {

core::Result<void> AuditPolicy::open(ReceiptBook& book, const ledger::State& ledger) {
  ledger_ = &ledger;
  COMMENSAL_ASSIGN(const auto records, book.list("", limits::kRiskReceiptsMax));
  for (const ReceiptRecord& record : records) {
    answers_.push_front(seen_of(record));
    if (by_risk_) stale_.insert(record.receipt.job.provider);
  }
  refresh();
  return {};
}

void AuditPolicy::on_receipt(const ReceiptRecord& record) {
  if (record.receipt.job.traits().is_kept) return;
  const SeenAnswer& seen = answers_.emplace_back(seen_of(record));
  if (answers_.size() > limits::kRiskReceiptsMax) answers_.pop_front();
  // What an answer earns decides on what cheating saves.
  const auto word = words_.find(seen.provider);
  if (word == words_.end() || word->second.pay != seen.pay) on_change(seen.provider);
}

void AuditPolicy::on_verdict(const ReceiptRecord& record) {
  const auto found = std::ranges::lower_bound(answers_, record.number, {}, &SeenAnswer::number);
  if (found != answers_.end() && found->number == record.number) found->audit = record.audit;
  on_change(record.receipt.job.provider);
}

void AuditPolicy::on_change(const crypto::Address& provider) {
  if (!by_risk_) return;
  stale_.insert(provider);
  if (std::exchange(is_due_, true)) return;
  loop_.after(kRefreshMs, [this] { refresh(); });
}

void AuditPolicy::refresh() {
  is_due_ = false;
  for (const crypto::Address& provider : std::exchange(stale_, {})) {
    ask(facts_in(answers_, *ledger_, provider));
  }
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
  words_[facts.provider] = {said, facts.pay};
  return said;
}

double AuditPolicy::probability(const crypto::Address& provider) const {
  const auto word = words_.find(provider);
  return word == words_.end() ? terms_.floor : word->second.probability;
}

bool AuditPolicy::draws(const protocol::Receipt& receipt, std::optional<double> chosen,
                        core::Rng& rng) const {
  constexpr std::uint64_t kManySteps = 10;
  if (chosen && receipt.step == 1 && receipt.job.steps >= kManySteps) return true;
  return rng.next_unit() < chosen.value_or(probability(receipt.job.provider));
}

}  // namespace commensal::gateway
