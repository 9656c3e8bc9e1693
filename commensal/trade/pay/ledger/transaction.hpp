// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/bodies.hpp>
#include <commensal/trade/pay/ledger/bodies_auditors.hpp>
#include <commensal/trade/pay/ledger/bodies_claims.hpp>
#include <commensal/trade/pay/ledger/bodies_disputes.hpp>
#include <variant>

namespace commensal::ledger {

/// Every kind of transaction. A kind's place in this list is its number in the encoding: new ones
/// go to the end.
using Body =
    std::variant<Genesis, Deposit, Withdraw, Fund, AnnounceWithdrawal, CompleteWithdrawal, Allow,
                 Debit, GrantCredit, AdmitAuditor, RegisterBeacon, Reveal, Open, Judge, Mature,
                 Endorse, Settle, Silence, Demand, Default, Checkpoint, Accuse, Contest, Concede,
                 Argue, Expire, Report, Sell, Buy, Enlist, Disclose, Summon>;

std::string_view name_of(const Body& body);

/// What is asked of a ledger, and who asks. Its signatures are over an EIP-712 digest:
/// NAME(address sender,uint64 nonce,FIELDS...) with the fields of the body, in the domain of
/// chain `chain_id` whose verifying contract is `ledger`. Names of fields are in camelCase, amounts
/// are uint128, enumerations uint8, nouns inside the hash of their encoding (bytes32).
struct Transaction {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kLedgerTransaction;

  std::uint64_t chain_id = protocol::kEmbeddedLedger;
  Address ledger;  // its operator
  Address sender;
  std::uint64_t nonce = 0;  // 0, 1, 2... of this sender
  Body body;
  std::vector<crypto::Signature> signatures;  // the sender's first, then of others where asked for

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("chain_id", self.chain_id);
    archive.field("ledger", self.ledger);
    archive.field("sender", self.sender);
    archive.field("nonce", self.nonce);
    archive.field("body", self.body);
    archive.field("signatures", self.signatures);
  }
  core::Result<void> validity() const;
  bool operator==(const Transaction&) const = default;
};

void write(protocol::Writer& writer, const Body& body);
void read(protocol::Reader& reader, Body& body);

/// The EIP-712 type of the body's kind, and what is signed.
std::string typed_name(const Transaction& transaction);
Digest signing_digest(const Transaction& transaction);

/// Adds the signature of `key`.
void sign(const crypto::SecretKey& key, Transaction& transaction);

/// One line of the journal: what was asked, what it moved, and the hash of the line before. Every
/// balance is the sum of postings up to here.
struct Entry {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kLedgerEntry;

  std::uint64_t sequence = 0;  // 0, 1, 2...
  std::uint64_t time_ms = 0;   // of the operator's clock; never goes back
  Transaction transaction;
  std::vector<Posting> postings;
  Digest previous{};  // the hash of the entry before; zero for the first

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("sequence", self.sequence);
    archive.field("time_ms", self.time_ms);
    archive.field("transaction", self.transaction);
    archive.field("postings", self.postings);
    archive.field("previous", self.previous);
  }
  bool operator==(const Entry&) const = default;
};

/// H("commensal/ledger/entry/v1", encoding).
Digest entry_hash(core::ByteView encoded);
inline Digest entry_hash(const Entry& entry) { return entry_hash(protocol::encode(entry)); }

/// Who signed: ECDSA recovery, behind an interface because a test of a million transactions has
/// no time for it. Thread-safety: any thread.
class Signatures {
 public:
  virtual ~Signatures() = default;
  /// Errors: crypto::recover's.
  virtual core::Result<Address> signer(const Digest& digest,
                                       const crypto::Signature& signature) const;
};

}  // namespace commensal::ledger
