// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/amount.hpp>
#include <compare>

/// Money as a pure state machine: accounts, transactions, a hash-chained journal (docs/money.md).
namespace commensal::ledger {

using core::Digest;
using crypto::Address;
using protocol::Amount;

/// What money in an account may do. The numbers stand in the journal: never reorder.
enum class AccountKind : std::uint8_t {
  kAvailable,      // its owner's, to spend or to withdraw
  kCredit,         // free credit: to spend on requests, never withdrawn
  kEscrow,         // a gateway's, pooled: pays winning tickets
  kPenaltyEscrow,  // a gateway's: pays when it withholds a reveal
  kStake,          // a provider's: what it loses when it cheats
  kWithdrawing,    // announced, not yet released: still answers for what it left
  kClaims,         // a gateway's: reserved for winners that are open
  kBurnt,          // nobody's, for ever
  kCreditPool,     // the operator's: free credit comes out of it
  kOutside,        // the deps: what came in less what went out; the one that others balance
  kBond,           // an accuser's: lost where the accusation fails
};
std::span<const std::string_view> enum_names(AccountKind);

struct AccountId {
  Address owner;
  AccountKind kind = AccountKind::kAvailable;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("owner", self.owner);
    archive.field("kind", self.kind);
  }
  auto operator<=>(const AccountId&) const = default;
};

/// The two accounts that nobody owns.
inline constexpr AccountId kOutside{{}, AccountKind::kOutside};
inline constexpr AccountId kBurnt{{}, AccountKind::kBurnt};

/// "stake of 0x52...".
std::string to_text(const AccountId& account);

/// One double entry: `from` is debited and `to` credited with the same amount, so that no posting
/// can make or lose money. Out of kOutside comes a deposit, into it goes a withdrawal.
struct Posting {
  AccountId from;
  AccountId to;
  Amount amount;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("from", self.from);
    archive.field("to", self.to);
    archive.field("amount", self.amount);
  }
  bool operator==(const Posting&) const = default;
};

}  // namespace commensal::ledger
