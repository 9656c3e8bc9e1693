// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/risk/ranges.hpp>
#include <commensal/trade/market/risk/worth.hpp>

namespace commensal::risk {

core::Result<void> Use::validity() const {
  return first_out_of_range({{"loss", loss, 0, kUnitsMax},
                             {"redo_cost", redo_cost, 0, kUnitsMax},
                             {"audit_cost", audit_cost, 0, kUnitsMax},
                             {"catches", catches, 0, 1}});
}

Figure value_of_audit(double right, const Use& use) {
  core::check(use.validity().has_value() && right >= 0 && right <= 1, "a use out of its range");
  const double wrong = 1 - right;
  const double before = std::min(wrong * use.loss, use.redo_cost);
  const double caught = wrong * use.catches;
  // What passes may still be wrong; what is caught certainly is.
  const double passed = std::min((wrong - caught) * use.loss, (1 - caught) * use.redo_cost);
  const double after = passed + caught * std::min(use.loss, use.redo_cost);
  return {"value of an audit",
          before - after - use.audit_cost,
          "loss without - loss with - cost",
          "Howard 1966",
          {{"P(wrong)", wrong, "1 - P(Y = F(X))"},
           {"loss", use.loss, "of using a wrong answer"},
           {"redo cost", use.redo_cost, "of having it computed by somebody trusted"},
           {"catches", use.catches, "P(the audit sees it | wrong)"},
           {"loss without", before, "expected; the better of using and computing again"},
           {"loss with", after, "likewise, once the audit has spoken"},
           {"cost", use.audit_cost, "of the audit"}}};
}

core::Result<void> ClaimOffer::validity() const {
  return first_out_of_range({{"face", face, 0, kUnitsMax},
                             {"win", win, 0, 1},
                             {"paid", paid, 0, 1},
                             {"audited", audited, 0, 1},
                             {"audited_cost", audited_cost, 0, kUnitsMax},
                             {"wait_days", wait_days, 0, 1e6},
                             {"interest_per_day", interest_per_day, 0, 1}});
}

Figure claim_price(double right, const ClaimOffer& offer) {
  core::check(offer.validity().has_value() && right >= 0 && right <= 1,
              "an offer out of its range");
  const double waiting = std::pow(1 + offer.interest_per_day, -offer.wait_days);
  const double expected = offer.face * offer.win * offer.paid * right * waiting;
  const double price = std::max(0.0, expected - offer.audited * offer.audited_cost);
  return {"price of a claim",
          price,
          "face x P(wins) x P(covered) x P(valid) x waiting - P(audited) x cost",
          "expected value",
          {{"face", offer.face, "what a winner pays"},
           {"P(wins)", offer.win, "1 once it is drawn"},
           {"P(covered)", offer.paid, "that the escrow pays it"},
           {"P(valid)", right, "P(Y = F(X)): an audit would confirm it"},
           {"waiting", waiting, "(1 + interest)^-days"},
           {"P(audited)", offer.audited, "before it is paid"},
           {"cost", offer.audited_cost, "of being audited"},
           {"discount", offer.face > 0 ? 1 - price / offer.face : 0, "1 - price / face"}}};
}

}  // namespace commensal::risk
