// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/market/risk/answer.hpp>
#include <commensal/trade/market/risk/inequality.hpp>
#include <commensal/trade/market/risk/record.hpp>
#include <commensal/trade/market/risk/worth.hpp>

namespace commensal::risk {

/// How a gateway runs its desk. The defaults suit steps that cost 1 unit.
struct Policy {
  double audit_floor = 0.01;  // probability that every answer has of being audited
  double margin = 1.1;        // how far above the inequality: more than 1
  double collusion = 0.05;    // alpha
  double lost_share = 0.5;    // of the stake, per mismatch: the first may be pardoned
  LazyCheat lazy;
  Malice malice;

  /// Error: kInvalidArgument, naming the field and its range.
  core::Result<void> validity() const;
};

/// One answer that somebody asks about.
struct AnswerFacts {
  Evidence evidence;
  Use use;
  ClaimOffer claim;

  core::Result<void> validity() const;
};

/// All figures about a provider and one of its answers.
struct Assessment {
  Figure cheating_rate;
  Figure right;
  Figure value_of_audit;
  Figure claim_price;
  Figure lazy;
  Figure malice;
  Figure audit_probability;
  bool deterred = false;  // at that probability; false: not even auditing all answers suffices
};
/// In the order above.
std::vector<const Figure*> figures_of(const Assessment& assessment);

/// max(floor, margin x what the inequalities need), 1 where it would be more or where the audit is
/// worth its price to who uses the answer. Trust cannot lower it: no belief enters but by the value
/// of the audit, which only raises it. Precondition: all are valid.
Figure audit_probability(const Record& record, const Policy& policy, double value_of_audit);

/// Errors: kInvalidArgument, kResourceExhausted, of policy or facts.
core::Result<Assessment> assess(const Record& record, std::uint64_t now_ms, const Policy& policy,
                                const AnswerFacts& facts);

/// What a caught cheat of this provider loses.
Deterrent deterrent_of(const Record& record, const Policy& policy);

}  // namespace commensal::risk
