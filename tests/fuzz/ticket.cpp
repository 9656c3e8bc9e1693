// SPDX-License-Identifier: Apache-2.0
// What a ticket book and a hash chain read back from their store: the first byte chooses. What
// decodes has this one encoding, and a chain that decodes ends every step.
#include <algorithm>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/ticket/record.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

void expect_same(const core::Bytes& encoded, core::ByteView bytes) {
  core::check(std::ranges::equal(encoded, bytes), "one value has one encoding");
}

void read_chain(core::ByteView bytes) {
  auto chain = beacon::HashChain::decode(bytes);
  if (!chain) return;
  expect_same(chain->encode(), bytes);
  (void)chain->reveal(std::min(chain->rounds(), chain->round() + 40));
}

void read_record(core::ByteView bytes) {
  if (const auto record = ticket::decode_record(bytes)) {
    expect_same(ticket::encode(*record), bytes);
  }
}

void read_totals(core::ByteView bytes) {
  if (const auto totals = ticket::decode_totals(bytes)) {
    expect_same(ticket::encode(*totals), bytes);
  }
}

constexpr void (*kReaders[])(core::ByteView) = {read_chain, read_record, read_totals};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
