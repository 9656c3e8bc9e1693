// SPDX-License-Identifier: Apache-2.0
// The ledger's decoders, and its rules: the first byte chooses. A transaction with any body, signed
// as it should be, is refused with the state as it was, or keeps every invariant.
#include <algorithm>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/testing/people.hpp>
#include <commensal/trade/pay/ledger/testing/scripted_arbiter.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <class Noun>
void read_noun(core::ByteView bytes) {
  const auto noun = protocol::decode<Noun>(bytes);
  if (!noun) return;
  core::check(std::ranges::equal(protocol::encode(*noun), bytes), "one value has one encoding");
}

void read_head(core::ByteView bytes) {
  const auto head = ledger::decode_head(bytes);
  if (!head) return;
  core::check(std::ranges::equal(ledger::encode_head(*head), bytes), "one value has one encoding");
}

/// Bodies one after the other, each before it a byte that says who sends it and when.
void run_bodies(core::ByteView bytes) {
  const ledger::testing::CheapSignatures signatures;
  ledger::Ledger ledger(signatures, &ledger::testing::kArbiter);
  const auto address = [](std::uint8_t number) { return crypto::Address{{number}}; };
  std::int64_t now_ms = 0;
  const auto send = [&](const crypto::Address& sender, ledger::Body body) {
    auto made =
        ledger::testing::unsigned_transaction(address(1), ledger.state(), sender, std::move(body));
    made.signatures = {
        ledger::testing::CheapSignatures::sign(sender, ledger::signing_digest(made))};
    (void)ledger.apply(made, now_ms);
  };
  ledger::Config config;
  config.operator_address = address(1);
  send(address(1), ledger::Genesis{config});
  for (std::uint8_t i = 1; i < 4; ++i) {
    send(address(1), ledger::Deposit{address(i), ledger::Amount(1000), core::Digest{i}});
  }
  protocol::Reader reader(bytes, "bodies");
  for (int steps = 0; steps < 64 && reader.remaining() > 0; ++steps) {
    const std::uint8_t how = reader.u8();
    ledger::Body body;
    read(reader, body);
    if (!reader.ok()) break;
    now_ms += how / 4 * 3600 * 1000;
    send(address(how % 4), std::move(body));
  }
  core::check(ledger::check_all(ledger.state()).has_value(), "an invariant is broken");
}

constexpr void (*kReaders[])(core::ByteView) = {read_noun<ledger::Transaction>,
                                                read_noun<ledger::Entry>, read_head, run_bodies};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
