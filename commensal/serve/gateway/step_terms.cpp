// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/step_terms.hpp>

namespace commensal::gateway {

std::uint64_t spoilt_by_one(const protocol::Job& job) {
  const bool is_moved =
      job.noise != protocol::NoisePolicy::kNone && job.states == protocol::StateRule::kMovable;
  return is_moved ? 1 : job.steps;
}

StepTerms step_terms(const protocol::Amount& stake, double pay, std::uint64_t spoilt,
                     const AuditTerms& terms, bool is_new) {
  risk::Policy policy = policy_of({{}, {}, pay}, terms);
  policy.malice.steps = static_cast<double>(std::max<std::uint64_t>(spoilt, 1));
  const double staked = risk::units_of(stake), lost = policy.lost_share * staked;
  const double covered = is_new ? staked / (terms.loss * pay) : lost / 2 / pay;
  StepTerms made;
  made.open_max = static_cast<std::uint64_t>(std::clamp(covered, 1.0, 1e9));
  const double left = lost - static_cast<double>(made.open_max) * pay;
  const risk::Deterrent deterrent{std::max(left, 0.0), 0, policy.collusion};
  made.probability =
      policy.margin * std::max(risk::lazy_probability(policy.lazy, deterrent).value,
                               risk::malice_probability(policy.malice, deterrent).value);
  return made;
}

}  // namespace commensal::gateway
