// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/ticket.hpp>
#include <commensal/trade/pay/ticket/state.hpp>

namespace commensal::ticket {

using protocol::Amount;

/// What a book keeps of a ticket in memory; the receipt with its signatures stays in the store.
struct Record {
  State state = State::kCommitted;
  core::Digest beacon{};  // of the job
  protocol::ReceiptBody body;
  Amount face_value;
  core::Digest win_threshold{};
  core::Digest output_root{};  // these two open the commitment
  core::Digest output_salt{};
  std::uint64_t committed_ms = 0;  // since 1970
  std::uint64_t settled_ms = 0;    // 0: not yet
  Amount paid;                     // to its provider, by the gateway or by who bought it

  core::Digest id() const { return protocol::ticket_id(body); }
  bool operator==(const Record&) const = default;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("state", self.state);
    archive.field("beacon", self.beacon);
    archive.field("body", self.body);
    archive.field("face_value", self.face_value);
    archive.field("win_threshold", self.win_threshold);
    archive.field("output_root", self.output_root);
    archive.field("output_salt", self.output_salt);
    archive.field("committed_ms", self.committed_ms);
    archive.field("settled_ms", self.settled_ms);
    archive.field("paid", self.paid);
  }
};

/// Sums over all tickets that a book has ever held, pruned ones too.
struct Totals {
  std::uint64_t issued = 0;  // countersigned
  std::uint64_t lost = 0;
  std::uint64_t won = 0;
  std::uint64_t paid = 0;
  std::uint64_t penalised = 0;
  std::uint64_t slashed = 0;
  std::uint64_t voided = 0;
  Amount value_won;           // face values of what has won
  Amount value_paid;          // to providers, whatever it was paid for
  Amount expected;            // value before the draw of all that was drawn
  double variance = 0;        // of value_won, in squared units
  std::uint64_t wait_ms = 0;  // from commitment to payment, over all that were paid

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    for (auto* count : {&self.issued, &self.lost, &self.won, &self.paid, &self.penalised,
                        &self.slashed, &self.voided, &self.wait_ms}) {
      archive.field("count", *count);
    }
    for (auto* sum : {&self.value_won, &self.value_paid, &self.expected}) {
      archive.field("sum", *sum);
    }
  }
  bool operator==(const Totals&) const = default;
};

core::Bytes encode(const Record& record);
core::Bytes encode(const Totals& totals);
/// Error: kInvalidArgument, naming the field.
core::Result<Record> decode_record(core::ByteView bytes);
core::Result<Totals> decode_totals(core::ByteView bytes);

/// Adds what `now` is and `before` was not.
void add_to(Totals& totals, const Record& before, const Record& now);

}  // namespace commensal::ticket
