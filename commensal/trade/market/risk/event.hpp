// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/amount.hpp>
#include <commensal/base/protocol/verdict.hpp>

namespace commensal::risk {

/// What the desk is told of. The numbers are stored: never reorder.
enum class EventKind : std::uint8_t {
  kAnswers,  // `count` more answers were delivered
  kAudit,    // one of them was audited, with `outcome`
  kStake,    // the provider's stake is now `amount`
  kEscrow,   // its winnings that are not paid out yet are now `amount`
};
std::span<const std::string_view> enum_names(EventKind);

/// One fact about a provider. Facts are numbered 0, 1, ... so that a replay and a gap both show.
struct Event {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kRiskEvent;

  crypto::Address provider;
  std::uint64_t number = 0;
  std::uint64_t at_ms = 0;  // since 1970
  EventKind kind = EventKind::kAnswers;
  std::uint64_t count = 0;                                // of kAnswers, else 0
  protocol::Outcome outcome = protocol::Outcome::kMatch;  // of kAudit, else kMatch
  protocol::Amount amount;                                // of kStake and kEscrow, else 0

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("provider", self.provider);
    archive.field("number", self.number);
    archive.field("at_ms", self.at_ms);
    archive.field("kind", self.kind);
    archive.field("count", self.count);
    archive.field("outcome", self.outcome);
    archive.field("amount", self.amount);
  }
  /// Error: kInvalidArgument where a field is set that its kind does not have.
  core::Result<void> validity() const;
  bool operator==(const Event&) const = default;
};

/// As a double: the nearest one.
double units_of(const protocol::Amount& amount);

}  // namespace commensal::risk
