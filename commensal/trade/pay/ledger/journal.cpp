// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>

namespace commensal::ledger {
namespace {

using core::ErrorCode;
using core::fail;

tl::unexpected<core::Error> lost(std::string_view what, const core::Error& error) {
  return fail(ErrorCode::kDataLoss, "{}: {}", what, error.message);
}

}  // namespace

core::Bytes key_of(std::uint64_t number) {
  protocol::Writer writer;
  writer.u64(number);
  return std::move(writer).take();
}

core::Result<std::uint64_t> number_of(core::ByteView key) {
  protocol::Reader reader(key, "key");
  const std::uint64_t number = reader.u64();
  if (const auto done = reader.finish(); !done) return lost("ledger", done.error());
  return number;
}

Head head_of(const State& state, std::uint64_t from) {
  return {state.scalars.entries, state.scalars.head, from};
}

core::Bytes before_key(std::uint64_t checkpoint, core::ByteView row) {
  protocol::Writer writer;
  writer.u64(checkpoint);
  writer.raw(row);
  return std::move(writer).take();
}

core::Bytes before_value(const std::optional<core::Bytes>& value) {
  protocol::Writer writer;
  write(writer, value);
  return std::move(writer).take();
}

core::Result<BeforeRow> decode_before(core::ByteView key, core::ByteView value) {
  BeforeRow row;
  protocol::Reader name(key, "an earlier row's name"), before(value, "an earlier row");
  row.checkpoint = name.u64();
  const core::ByteView rest = name.raw(name.remaining());
  row.key.assign(rest.begin(), rest.end());
  protocol::read(before, row.value);
  for (protocol::Reader* reader : {&name, &before}) {
    if (const auto done = reader->finish(); !done) return lost("ledger", done.error());
  }
  return row;
}

core::Bytes encode_head(const Head& head) {
  protocol::Writer writer;
  write(writer, head);
  return std::move(writer).take();
}

core::Result<Head> decode_head(core::ByteView bytes) {
  protocol::Reader reader(bytes, "head");
  Head head;
  read(reader, head);
  if (const auto done = reader.finish(); !done) return lost("ledger", done.error());
  if (head.from > 0 && head.from >= head.entries) {
    return fail(ErrorCode::kDataLoss, "ledger: the journal begins with {} of {} entries", head.from,
                head.entries);
  }
  return head;
}

core::Result<std::optional<Head>> read_head(core::Store& store) {
  COMMENSAL_ASSIGN(const auto bytes, store.get(kHeadSpace, {}));
  if (!bytes) {
    COMMENSAL_ASSIGN(const auto first, store.get(kJournalSpace, key_of(0)));
    if (!first) return std::nullopt;
    return fail(ErrorCode::kDataLoss, "ledger: the journal has no head");
  }
  COMMENSAL_ASSIGN(const Head head, decode_head(*bytes));
  return head;
}

core::Result<void> replay(Ledger& ledger, core::ByteView encoded) {
  const auto entry = protocol::decode<Entry>(encoded);
  if (!entry) return lost("encoding", entry.error());
  const Head head = head_of(ledger.state());
  if (entry->sequence != head.entries) {
    return fail(ErrorCode::kDataLoss, "sequence: {}, expected {}", entry->sequence, head.entries);
  }
  if (entry->previous != head.hash) {
    return fail(ErrorCode::kDataLoss, "previous: {}, but the entry before has hash {}",
                core::to_hex(entry->previous), core::to_hex(head.hash));
  }
  const auto again = ledger.apply(entry->transaction, static_cast<std::int64_t>(entry->time_ms));
  if (!again) return lost("transaction", again.error());
  if (again->postings != entry->postings) {
    return fail(ErrorCode::kDataLoss, "postings: they are not what the transaction moves");
  }
  if (*again != *entry) return fail(ErrorCode::kDataLoss, "it is not what the transaction makes");
  return {};
}

}  // namespace commensal::ledger
