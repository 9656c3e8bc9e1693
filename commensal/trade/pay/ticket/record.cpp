// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/record.hpp>
#include <limits>

namespace commensal::ticket {
namespace {

/// Sums for people never fail: at the end of the range they stay there.
void add(Amount& sum, const Amount& more) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  sum = sum.plus(more).value_or(Amount::from_words(kMost, kMost));
}

struct Counter {
  State state;
  std::uint64_t Totals::*count;
};
constexpr Counter kCounters[] = {
    {State::kCountersigned, &Totals::issued},
    {State::kLost, &Totals::lost},
    {State::kWon, &Totals::won},
    {State::kPaid, &Totals::paid},
    {State::kPenalised, &Totals::penalised},
    {State::kSlashed, &Totals::slashed},
    {State::kVoid, &Totals::voided},
};

}  // namespace

core::Bytes encode(const Record& record) {
  protocol::Writer writer;
  Record::fields(writer, record);
  return std::move(writer).take();
}

core::Bytes encode(const Totals& totals) {
  protocol::Writer writer;
  Totals::fields(writer, totals);
  writer.u64(std::bit_cast<std::uint64_t>(totals.variance));
  return std::move(writer).take();
}

core::Result<Record> decode_record(core::ByteView bytes) {
  protocol::Reader reader(bytes, "ticket record");
  Record record;
  Record::fields(reader, record);
  COMMENSAL_TRY(reader.finish());
  return record;
}

core::Result<Totals> decode_totals(core::ByteView bytes) {
  protocol::Reader reader(bytes, "ticket totals");
  Totals totals;
  Totals::fields(reader, totals);
  totals.variance = std::bit_cast<double>(reader.u64());
  COMMENSAL_TRY(reader.finish());
  return totals;
}

void add_to(Totals& totals, const Record& before, const Record& now) {
  if (now.state == before.state) return;
  for (const Counter& counter : kCounters) {
    if (counter.state == now.state) ++(totals.*counter.count);
  }
  if (now.state == State::kWon) add(totals.value_won, now.face_value);
  if (now.state == State::kWon || now.state == State::kLost) {
    add(totals.expected, expected_value(now.face_value, now.win_threshold));
    totals.variance += variance(now.face_value, now.win_threshold);
  }
  if (now.paid > before.paid) add(totals.value_paid, *now.paid.minus(before.paid));
  if (now.state == State::kPaid) {
    totals.wait_ms += now.settled_ms - std::min(now.settled_ms, now.committed_ms);
  }
}

}  // namespace commensal::ticket
