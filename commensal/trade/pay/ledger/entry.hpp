// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/transaction.hpp>

namespace commensal::ledger {

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

}  // namespace commensal::ledger
