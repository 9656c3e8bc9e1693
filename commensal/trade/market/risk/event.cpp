// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/trade/market/risk/event.hpp>

namespace commensal::risk {

std::span<const std::string_view> enum_names(EventKind) {
  static constexpr std::string_view kNames[] = {"answers", "audit", "stake", "escrow"};
  return kNames;
}

core::Result<void> Event::validity() const {
  const bool counts = kind == EventKind::kAnswers;
  const bool audits = kind == EventKind::kAudit;
  const bool pays = kind == EventKind::kStake || kind == EventKind::kEscrow;
  const auto refuse = [&](std::string_view field) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{}: not of kind '{}', expected none",
                      field, protocol::name_of(kind));
  };
  if (!counts && count != 0) return refuse("count");
  if (!audits && outcome != protocol::Outcome::kMatch) return refuse("outcome");
  if (!pays && amount != protocol::Amount{}) return refuse("amount");
  return {};
}

double units_of(const protocol::Amount& amount) {
  return std::ldexp(static_cast<double>(amount.high()), 64) + static_cast<double>(amount.low());
}

}  // namespace commensal::risk
