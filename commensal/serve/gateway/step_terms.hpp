// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/risk_facts.hpp>

namespace commensal::gateway {

/// How far a provider's stake makes good the steps of its rollouts. Half of what it loses when one
/// is found wrong stands for the steps that are open meanwhile, the other half for those that are
/// not audited. Source: docs/verification.md, "Risk desk".
struct StepTerms {
  double probability = 0;      // of a step's audit, at least; above 1: no audits suffice
  std::uint64_t open_max = 1;  // steps of it that are at work, or wait for their audits
};

/// How many steps of it may cost nothing once one of them is false: all, but where noise moves
/// every state that is allowed.
std::uint64_t spoilt_by_one(const protocol::Job& job);

/// `pay`: expected value of a step's ticket, in units, more than 0. Of who is new no more steps
/// are open than the stake covers at AuditTerms::loss times the pay, as of single answers.
StepTerms step_terms(const protocol::Amount& stake, double pay, std::uint64_t spoilt,
                     const AuditTerms& terms, bool is_new);

}  // namespace commensal::gateway
