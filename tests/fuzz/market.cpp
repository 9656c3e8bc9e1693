// SPDX-License-Identifier: Apache-2.0
// What risk desk and panel read: the first byte chooses. What decodes has this one encoding; what a
// record or a case accepts or refuses breaks no rule of theirs.
#include <algorithm>
#include <commensal/trade/market/panel/case.hpp>
#include <commensal/trade/market/risk/record.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <class Noun>
core::Result<Noun> read(core::ByteView bytes) {
  auto noun = protocol::decode<Noun>(bytes);
  if (noun)
    core::check(std::ranges::equal(protocol::encode(*noun), bytes), "one value has one encoding");
  return noun;
}

template <class Noun>
void read_alone(core::ByteView bytes) {
  (void)read<Noun>(bytes);
}

/// Nouns, each after its length.
void read_record(core::ByteView bytes) {
  protocol::Reader reader(bytes, "events");
  risk::Record record({}, {});
  while (reader.ok() && reader.remaining() > 0) {
    const auto event = read<risk::Event>(reader.bytes());
    if (event) (void)record.apply(*event);
  }
  const double rate = record.belief(record.counts().last_ms).mean();
  core::check(rate >= 0 && rate <= 1, "a rate that is no probability");
}

void read_case(core::ByteView bytes) {
  protocol::Reader reader(bytes, "events");
  const auto terms = read<panel::Terms>(reader.bytes());
  if (!terms) return;
  auto made = panel::Case::open(*terms, 0, 0);
  core::check(made.has_value(), "terms that decode open a case");
  while (reader.ok() && reader.remaining() > 0) {
    const auto event = read<panel::Event>(reader.bytes());
    if (event) (void)made->apply(*event);
  }
  if (!made->outcome()) return;
  protocol::Amount paid;
  for (const panel::Payout& payout : made->outcome()->payouts) paid = *paid.plus(payout.amount);
  core::check(paid == made->staked(), "payouts that do not add up to the stakes");
}

constexpr void (*kReaders[])(core::ByteView) = {read_alone<risk::Event>,
                                                read_alone<panel::Terms>,
                                                read_alone<panel::Move>,
                                                read_alone<panel::Draw>,
                                                read_alone<panel::Event>,
                                                read_record,
                                                read_case};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
