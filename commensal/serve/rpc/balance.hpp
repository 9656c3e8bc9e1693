// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/amount.hpp>
#include <commensal/base/protocol/encoding.hpp>

/// Of messages.hpp, from the gateway to the provider.
namespace commensal::rpc {

/// What the gateway's ledger says of the provider's money and of its own, by its word: after every
/// change of the former, and within a second of the latter. What a provider can check is that its
/// own tickets are among those owed; what a lie costs is for the ledger to say (take_escrow).
struct Balance {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kBalance;

  crypto::Address ledger;   // its operator
  std::uint64_t nonce = 0;  // of the provider's next transaction
  protocol::Amount available;
  protocol::Amount stake;
  protocol::Amount stake_wanted;      // with less there is no work
  std::uint64_t reveal_delay_ms = 0;  // the ledger's: for the gateway, to answer a demand
  std::uint64_t audit_delay_ms = 0;   // the ledger's: then a winner is paid without a verdict
  protocol::Amount auditor_fee;       // the ledger's: a winner takes it besides its face value
  protocol::Amount escrow;            // the gateway's, announced withdrawals not counted
  protocol::Amount penalty_escrow;    // likewise
  std::uint64_t owed = 0;             // tickets on which nothing is decided, of all providers
  bool is_answer = false;             // to the last Transact: another may follow

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ledger", self.ledger);
    archive.field("nonce", self.nonce);
    archive.field("available", self.available);
    archive.field("stake", self.stake);
    archive.field("stake_wanted", self.stake_wanted);
    archive.field("reveal_delay_ms", self.reveal_delay_ms);
    archive.field("audit_delay_ms", self.audit_delay_ms);
    archive.field("auditor_fee", self.auditor_fee);
    archive.field("escrow", self.escrow);
    archive.field("penalty_escrow", self.penalty_escrow);
    archive.field("owed", self.owed);
    archive.field("is_answer", self.is_answer);
  }
  core::Result<void> validity() const;
};

}  // namespace commensal::rpc
