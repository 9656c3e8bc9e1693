// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <span>

namespace commensal::protocol {

// A receipt whose round is not kNoDraw is a lottery ticket: its batch signatures are all that is
// signed. What is done with it afterwards travels in these nouns.

/// H("commensal/ticket-id/v1", J | i as u64). It leaves out commitment and round: whatever is
/// signed about one step, one ticket of it is paid.
Digest ticket_id(const Digest& job_id, std::uint64_t step);
inline Digest ticket_id(const ReceiptBody& body) { return ticket_id(body.job_id, body.step); }

/// "This ticket has won, and here is the answer it was for": all that a stranger needs to check it
/// (trade/pay/ticket/claim.hpp), except whether the answer is right, which a Verdict says.
struct Claim {
  static constexpr NounKind kKind = NounKind::kClaim;

  Receipt receipt;
  Digest gateway_reveal{};   // of the receipt's round
  Digest provider_reveal{};  // likewise
  Digest output_root{};      // these two open the receipt's commitment
  Digest output_salt{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("gateway_reveal", self.gateway_reveal);
    archive.field("provider_reveal", self.provider_reveal);
    archive.field("output_root", self.output_root);
    archive.field("output_salt", self.output_salt);
  }
  bool operator==(const Claim&) const = default;
};

/// A ticket passed on to another key, drawn or not: whatever is paid for it goes to the last
/// holder. The first holder is the job's provider. Signed by `from` (EIP-712: Endorsement(bytes32
/// ticket,uint64 index,address from,address to)).
struct Endorsement {
  static constexpr NounKind kKind = NounKind::kEndorsement;

  Digest ticket{};
  std::uint64_t index = 0;  // 0, 1, ... along the chain
  crypto::Address from;
  crypto::Address to;
  crypto::Signature signature;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ticket", self.ticket);
    archive.field("index", self.index);
    archive.field("from", self.from);
    archive.field("to", self.to);
    archive.field("signature", self.signature);
  }
  bool operator==(const Endorsement&) const = default;
};

/// Fills in `from` and the signature.
Endorsement sign_endorsement(const crypto::SecretKey& key, Endorsement endorsement,
                             std::uint64_t chain_id = kEmbeddedLedger);
/// That `from` signed it. Errors: kUnauthenticated, kInvalidArgument.
core::Result<void> verify_endorsement(const Endorsement& endorsement,
                                      std::uint64_t chain_id = kEmbeddedLedger);
/// Who holds `ticket` after these, starting from `first_holder`. Errors: as verify_endorsement;
/// kInvalidArgument for a gap, another ticket, or a `from` that does not hold it;
/// kResourceExhausted beyond limits::kEndorsementsMax. The message names the index.
core::Result<crypto::Address> last_holder(const Digest& ticket, const crypto::Address& first_holder,
                                          std::span<const Endorsement> chain,
                                          std::uint64_t chain_id = kEmbeddedLedger);

/// An outcome that both parties sign takes the place of draw, deadline, audit and dispute at once.
/// Both sign the same (EIP-712: JointSettlement(bytes32 ticket,address client,address holder,
/// uint256 toHolder,uint256 toClient)).
struct JointSettlement {
  static constexpr NounKind kKind = NounKind::kJointSettlement;

  Digest ticket{};
  crypto::Address client;
  crypto::Address holder;  // the job's provider, or the last endorsed
  Amount to_holder;        // out of the client's escrow
  Amount to_client;        // out of what the holder has available, this payment included
  crypto::Signature by_client;
  crypto::Signature by_holder;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ticket", self.ticket);
    archive.field("client", self.client);
    archive.field("holder", self.holder);
    archive.field("to_holder", self.to_holder);
    archive.field("to_client", self.to_client);
    archive.field("by_client", self.by_client);
    archive.field("by_holder", self.by_holder);
  }
  bool operator==(const JointSettlement&) const = default;
};

/// One party's signature over all but the signatures.
crypto::Signature sign_settlement(const crypto::SecretKey& key, const JointSettlement& settlement,
                                  std::uint64_t chain_id = kEmbeddedLedger);
/// Both signatures. Errors: kUnauthenticated, kInvalidArgument; the message names the party.
core::Result<void> verify_settlement(const JointSettlement& settlement,
                                     std::uint64_t chain_id = kEmbeddedLedger);

}  // namespace commensal::protocol
