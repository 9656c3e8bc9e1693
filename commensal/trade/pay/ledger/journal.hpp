// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/state.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

/// How a ledger lies in a store: shared by who writes it (Book) and who checks it (verify).
namespace commensal::ledger {

inline constexpr std::string_view kJournalSpace = "ledger_journal";
inline constexpr std::string_view kHeadSpace = "ledger_head";
/// Checkpoint's entry, key of a row -> what stood there just before it, for each row that changed
/// since: with that, the present rows are those of the checkpoint.
inline constexpr std::string_view kBeforeSpace = "ledger_before";

/// Big-endian, so that keys are in the order of the journal.
core::Bytes key_of(std::uint64_t number);
/// Error: kDataLoss unless it has eight bytes.
core::Result<std::uint64_t> number_of(core::ByteView key);

/// Where the journal ends, and where what is kept of it begins.
struct Head {
  std::uint64_t entries = 0;
  Digest hash{};
  std::uint64_t from = 0;  // 0, or a Checkpoint's entry

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("entries", self.entries);
    archive.field("hash", self.hash);
    archive.field("from", self.from);
  }
  bool operator==(const Head&) const = default;
};
Head head_of(const State& state, std::uint64_t from = 0);

/// A row of kBeforeSpace.
struct BeforeRow {
  std::uint64_t checkpoint = 0;
  core::Bytes key;
  std::optional<core::Bytes> value;  // absent: there was none
};
core::Bytes before_key(std::uint64_t checkpoint, core::ByteView row);
core::Bytes before_value(const std::optional<core::Bytes>& value);
/// Error: kDataLoss.
core::Result<BeforeRow> decode_before(core::ByteView key, core::ByteView value);
core::Bytes encode_head(const Head& head);
core::Result<Head> decode_head(core::ByteView bytes);
/// Nothing where no ledger was founded.
core::Result<std::optional<Head>> read_head(core::Store& store);

/// Runs `entry` again on `ledger`. Error: kDataLoss unless that gives the same bytes; the message
/// names what differs.
core::Result<void> replay(class Ledger& ledger, core::ByteView encoded);

}  // namespace commensal::ledger
