// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/amount.hpp>
#include <commensal/base/protocol/signer.hpp>

/// Who is right about a claim, where client and holder do not agree (docs/verification.md): client,
/// auditor, panels of 2n+1, the arbiter both have named; or, at any time, what both sign. Pure
/// functions of events: no clock, no dice, no disk, and no money but its book-keeping.
namespace commensal::panel {

using core::Digest;
using core::Result;
using crypto::Address;
using protocol::Amount;

/// What both parties have agreed on before there is anything to argue about.
struct Terms {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kPanelTerms;

  Digest ticket{};  // protocol::ticket_id of the claim
  std::uint64_t chain_id = protocol::kEmbeddedLedger;
  Address client;
  Address holder;                  // of the claim; it cannot be passed on while the case is open
  Address arbiter;                 // has the last word; zero: nobody
  std::vector<Address> auditors;   // who can be drawn: in ascending order, neither of the above
  std::uint64_t appeals_max = 3;   // then it is the arbiter's turn
  Amount face;                     // what the holder gets if the claim stands
  Amount bond;                     // of the holder, locked when the case opens
  Amount fee;                      // of a member for a vote
  Amount arbiter_fee;              // of the arbiter
  Amount deposit;                  // with every objection and appeal, beside the fees it causes
  std::uint64_t objection_ms = 1;  // for the client to object
  std::uint64_t draw_ms = 1;       // for the beacon
  std::uint64_t commit_ms = 1;     // to commit to a vote
  std::uint64_t reveal_ms = 1;     // to reveal it
  std::uint64_t appeal_ms = 1;     // for who has lost
  std::uint64_t arbiter_ms = 1;    // for the arbiter

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("ticket", self.ticket);
    archive.field("chain_id", self.chain_id);
    archive.field("client", self.client);
    archive.field("holder", self.holder);
    archive.field("arbiter", self.arbiter);
    archive.field("auditors", self.auditors);
    archive.field("appeals_max", self.appeals_max);
    archive.field("face", self.face);
    archive.field("bond", self.bond);
    archive.field("fee", self.fee);
    archive.field("arbiter_fee", self.arbiter_fee);
    archive.field("deposit", self.deposit);
    archive.field("objection_ms", self.objection_ms);
    archive.field("draw_ms", self.draw_ms);
    archive.field("commit_ms", self.commit_ms);
    archive.field("reveal_ms", self.reveal_ms);
    archive.field("appeal_ms", self.appeal_ms);
    archive.field("arbiter_ms", self.arbiter_ms);
  }
  /// Errors: kInvalidArgument, kResourceExhausted beyond limits::kPanel*; the message names the
  /// field. A deposit covers the arbiter's fee, so that a vote without a majority can go to it.
  Result<void> validity() const;
  bool operator==(const Terms&) const = default;
};

/// H("commensal/panel/case/v1", encoding): stands in every move, so that none can be reused.
Digest case_id(const Terms& terms);

/// `count` of `pool`, without repetition, every set of them equally likely to who does not know
/// the beacon's value: position j swaps with one of those from j on, by the numbers
/// H("commensal/panel/draw/v1", case | instance as u64 | beacon | k as u64), k = 0, 1, ..., of
/// which the first 8 bytes count, modulo what is left, unless they lie above its largest multiple
/// (Fisher, Yates). Precondition: count <= pool.size().
std::vector<Address> draw_members(const Digest& case_id, std::uint64_t instance,
                                  const Digest& beacon, std::vector<Address> pool,
                                  std::size_t count);

}  // namespace commensal::panel
