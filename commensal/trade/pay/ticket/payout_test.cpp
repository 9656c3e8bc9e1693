// SPDX-License-Identifier: Apache-2.0
// What a book of tickets pays, and what a claim needs.
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::ticket {
namespace {

using testing::Pair;

constexpr double kDeviationsMax = 4;  // an honest run lies outside once in 15,000

TEST(MoneyClaims, ACommitmentThatIsNotCountersignedClaimsNothing) {
  Pair pair(5);
  const protocol::Job job = pair.job(certain_threshold(), Amount(1));
  std::vector<Pair::Step> signed_one = {pair.step(job, 3)}, other = {pair.step(job, 3)};
  pair.sign(signed_one);
  pair.sign(other);
  other[0].receipt.client = signed_one[0].receipt.client;
  const auto check = [&](const Pair::Step& step) {
    return verify_claim(pair.claim(step), beacon::HashChainTracker(pair.gateway_head),
                        beacon::HashChainTracker(pair.provider_head), {3, 3, 10});
  };
  EXPECT_TRUE(check(signed_one[0]));
  EXPECT_EQ(check(other[0]).error().message.find("claim: receipt: client signature: recovers to"),
            0u);
}

// 10^5 tickets through the book, with odds of every size: what is won lies within the binomial
// bound of what was expected.
TEST(MoneyPayout, LiesWithinItsBound) {
  Pair pair(23, 8);
  beacon::TwoPartyBeacon beacon{beacon::HashChainTracker(pair.gateway_head),
                                beacon::HashChainTracker(pair.provider_head)};
  store::MemoryStore store;
  core::ManualClock clock;
  TicketBook book(store, clock, {.deadlines = {.kept_rounds = 1}});
  ASSERT_TRUE(book.open());
  constexpr std::uint64_t kPrices[] = {1, 10, 100, 500, 999, 1000};
  for (std::uint64_t round = 1; round <= 100; ++round) {
    std::vector<NewTicket> tickets;
    std::vector<protocol::Receipt> receipts;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const Amount price(kPrices[i % std::size(kPrices)]);
      const auto step =
          pair.step(pair.job(*threshold_for(price, Amount(1000)), Amount(1000)), round);
      tickets.push_back({step.receipt, step.output_root, step.output_salt});
      receipts.push_back(step.receipt);
    }
    ASSERT_TRUE(book.commit(tickets, round));
    ASSERT_TRUE(book.countersign(receipts));
    ASSERT_TRUE(beacon.on_gateway_reveal(round, *pair.gateway_chain.reveal(round)));
    ASSERT_TRUE(book.close(beacon.id(), round));
    ASSERT_TRUE(beacon.on_provider_reveal(round, *pair.provider_chain.reveal(round)));
    ASSERT_TRUE(book.draw(beacon));
    ASSERT_TRUE(book.move(book.overdue(beacon.id(), Event::kSilence, round)));
    ASSERT_TRUE(book.prune(beacon.id(), round));
  }
  const Statistics now = statistics(book.totals());
  EXPECT_EQ(book.totals().issued, 100'000u);
  EXPECT_EQ(book.totals().won + book.totals().lost, 100'000u);
  EXPECT_LE(std::abs(now.deviations), kDeviationsMax);
  std::printf("won %.0f, expected %.0f, deviation %.0f: %+.2f deviations\n", now.won, now.expected,
              now.deviation, now.deviations);
}

}  // namespace
}  // namespace commensal::ticket
