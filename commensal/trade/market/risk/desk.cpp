// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/risk/desk.hpp>
#include <commensal/trade/market/risk/ranges.hpp>

namespace commensal::risk {

core::Result<void> Policy::validity() const {
  COMMENSAL_TRY(first_out_of_range({{"audit_floor", audit_floor, 1e-9, 1},
                                    {"margin", margin, 1.000001, 1000},
                                    {"collusion", collusion, 0, 0.999999},
                                    {"lost_share", lost_share, 0, 1}}));
  COMMENSAL_TRY(lazy.validity());
  return malice.validity();
}

core::Result<void> AnswerFacts::validity() const {
  COMMENSAL_TRY(evidence.validity());
  COMMENSAL_TRY(use.validity());
  return claim.validity();
}

std::vector<const Figure*> figures_of(const Assessment& assessment) {
  return {&assessment.cheating_rate,    &assessment.right, &assessment.value_of_audit,
          &assessment.claim_price,      &assessment.lazy,  &assessment.malice,
          &assessment.audit_probability};
}

Deterrent deterrent_of(const Record& record, const Policy& policy) {
  return {std::min(record.stake() * policy.lost_share, kUnitsMax),
          std::min(record.escrowed(), kUnitsMax), policy.collusion};
}

Figure audit_probability(const Record& record, const Policy& policy, double value_of_audit) {
  core::check(policy.validity().has_value(), "a policy out of its range");
  const Deterrent deterrent = deterrent_of(record, policy);
  const double lazy = lazy_probability(policy.lazy, deterrent).value;
  const double malice = malice_probability(policy.malice, deterrent).value;
  const double needed = std::max(lazy, malice);
  const double drawn = std::min(1.0, std::max(policy.audit_floor, policy.margin * needed));
  return {"audit probability",
          value_of_audit > 0 ? 1 : drawn,
          "1 if the audit is worth it; else max(floor, margin x inequality), at most 1",
          "docs/verification.md",
          {{"floor", policy.audit_floor, "every answer has it, whoever gave it"},
           {"margin", policy.margin, "the inequalities are strict, costs are estimates"},
           {"lazy cheating", lazy, "the probability that its inequality needs"},
           {"malice", malice, "likewise"},
           {"inequality", needed, "the larger; above 1: the stake is too small"},
           {"drawn", drawn, "by the inequality and the floor alone"},
           {"value of an audit", value_of_audit, "to who uses the answer; bought while positive"}}};
}

core::Result<Assessment> assess(const Record& record, std::uint64_t now_ms, const Policy& policy,
                                const AnswerFacts& facts) {
  COMMENSAL_TRY(policy.validity());
  COMMENSAL_TRY(facts.validity());
  const Deterrent deterrent = deterrent_of(record, policy);
  Assessment made;
  made.cheating_rate = record.cheating_rate(now_ms);
  made.right = probability_right(made.cheating_rate.value, facts.evidence);
  made.value_of_audit = value_of_audit(made.right.value, facts.use);
  made.claim_price = claim_price(made.right.value, facts.claim);
  made.lazy = lazy_probability(policy.lazy, deterrent);
  made.malice = malice_probability(policy.malice, deterrent);
  made.audit_probability = audit_probability(record, policy, made.value_of_audit.value);
  const double probability = made.audit_probability.value;
  made.deterred = lazy_deterred(policy.lazy, deterrent, probability) &&
                  malice_deterred(policy.malice, deterrent, probability);
  return made;
}

}  // namespace commensal::risk
