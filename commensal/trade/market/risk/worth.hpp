// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/trade/market/risk/figure.hpp>

namespace commensal::risk {

/// What hangs on one answer for who would use it.
struct Use {
  double loss = 0;        // of using a wrong answer
  double redo_cost = 0;   // of having it computed again by somebody trusted
  double audit_cost = 0;  // fee and opening
  double catches = 1;     // probability that the audit sees a wrong answer

  /// Error: kInvalidArgument, naming the field and its range. Likewise below.
  core::Result<void> validity() const;
};
/// Expected loss without an audit, less that with one, less what the audit costs: worth buying
/// while positive (Howard 1966, "Information Value Theory"). The user takes the better of using the
/// answer and having it computed again, before and after. Precondition: 0 <= right <= 1, valid.
Figure value_of_audit(double right, const Use& use);

/// A ticket or a claim that somebody offers to pass on.
struct ClaimOffer {
  double face = 0;
  double win = 1;               // probability that it wins; 1 once drawn
  double paid = 1;              // probability that the escrow covers it
  double audited = 0;           // probability that the claim is audited before it is paid
  double audited_cost = 0;      // to its holder: keeping and showing the opening
  double wait_days = 0;         // until it is paid
  double interest_per_day = 0;  // a unit paid in one day is worth 1 / (1 + interest) now

  core::Result<void> validity() const;
};
/// face x P(wins) x P(covered) x P(valid) / (1 + interest)^days - P(audited) x cost of being
/// audited, never below 0. The value is the price; the term "discount" is 1 - price / face.
/// Precondition: 0 <= right <= 1, the offer is valid.
Figure claim_price(double right, const ClaimOffer& offer);

}  // namespace commensal::risk
