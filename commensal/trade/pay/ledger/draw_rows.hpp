// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/account.hpp>
#include <optional>

/// What the state keeps of auditors and of how they are drawn.
namespace commensal::ledger {

/// Who may be drawn.
struct BenchRow {
  std::uint64_t since = 0;  // the entry of its Enlist
  Amount stake;             // the least that it has had locked since then

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("since", self.since);
    archive.field("stake", self.stake);
  }
};

/// One draw for all cases about a receipt, whoever accuses: nobody is worth a second one.
struct DrawRow {
  std::uint64_t before = 0;     // the first accusation's entry: who came later is not drawn
  std::uint64_t round = 0;      // of the job's beacon, that was not drawn then; 0: it has none
  std::uint64_t open_ms = 0;    // until then what lacks of the seed is waited for
  Digest commitment{};          // the job's draw_commitment
  std::optional<Digest> nonce;  // that opens it, once it is known
  std::optional<Digest> seed;   // draw_seed, once somebody was drawn

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("before", self.before);
    archive.field("round", self.round);
    archive.field("open_ms", self.open_ms);
    archive.field("commitment", self.commitment);
    archive.field("nonce", self.nonce);
    archive.field("seed", self.seed);
  }
};

}  // namespace commensal::ledger
