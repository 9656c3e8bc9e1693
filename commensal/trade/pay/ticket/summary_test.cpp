// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::ticket {
namespace {

using namespace testing;

std::uint64_t count(const Summary& summary, State state) {
  return summary.counts[static_cast<std::size_t>(state)];
}
bool all(const core::Digest&) { return true; }

TEST(MoneySummary, OfAnEmptyBookHasNoRateAndNoPayment) {
  store::MemoryStore store;
  core::ManualClock clock;
  const TicketBook book(store, clock);
  const Summary made = summarise(book, 5'000, all);
  EXPECT_EQ(made.expected, Amount());
  EXPECT_EQ(made.claims, 0u);
  EXPECT_EQ(made.per_second, 0);
  EXPECT_TRUE(std::isinf(made.seconds_to_payment));
}

// Forty tickets of face 1,000 at p = 1/4, one every 500 ms, half of them drawn.
TEST(MoneySummary, SaysWhatTicketsAreWorthAndWhenTheNextOnePays) {
  store::MemoryStore store;
  core::ManualClock clock;
  TicketBook book(store, clock);
  Pair pair(7);
  const protocol::Job terms = pair.job(*threshold_of(0.25), Amount(1000));
  for (int i = 0; i < 40; ++i) {
    protocol::Job job = terms;
    job.input_commitment = pair.rng().next_digest();
    std::vector<Pair::Step> steps = {pair.step(job, i < 20 ? 1 : 2)};
    pair.sign(steps);
    const NewTicket made{steps[0].receipt, {}, {}};
    ASSERT_TRUE(book.commit({&made, 1}, 1));
    ASSERT_TRUE(book.countersign({&steps[0].receipt, 1}));
    clock.advance_ms(500);
  }
  beacon::TwoPartyBeacon beacon{beacon::HashChainTracker(pair.gateway_head),
                                beacon::HashChainTracker(pair.provider_head)};
  ASSERT_TRUE(beacon.on_gateway_reveal(1, *pair.gateway_chain.reveal(1)));
  ASSERT_TRUE(beacon.on_provider_reveal(1, *pair.provider_chain.reveal(1)));
  ASSERT_TRUE(book.close(beacon.id(), 1));
  const auto winners = book.draw(beacon);
  ASSERT_TRUE(winners);
  const Summary made = summarise(book, static_cast<std::uint64_t>(clock.wall_ms()), all);
  EXPECT_EQ(count(made, State::kCountersigned), 20u);
  EXPECT_EQ(count(made, State::kWon), winners->size());
  EXPECT_EQ(count(made, State::kLost), 20u - winners->size());
  EXPECT_EQ(made.expected, Amount(20 * 250));
  EXPECT_DOUBLE_EQ(made.deviation, std::sqrt(20 * 1000.0 * 1000.0 * 0.25 * 0.75));
  EXPECT_EQ(made.claims, winners->size());
  EXPECT_EQ(made.claimed, Amount(1000 * winners->size()));
  EXPECT_DOUBLE_EQ(made.per_second, 2.0);
  EXPECT_DOUBLE_EQ(made.seconds_to_payment, 2.0);
  const Summary none = summarise(book, 0, [](const core::Digest&) { return false; });
  EXPECT_EQ(count(none, State::kLost), 0u);
}

}  // namespace
}  // namespace commensal::ticket
