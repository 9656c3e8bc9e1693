// SPDX-License-Identifier: Apache-2.0
// A month of trade between 50 gateways and 500 providers, some of which crash, keep silent,
// withhold or cheat. Every round is checked by Economy itself; here, that a month is the same month
// again from the same seed, and that all that can happen did. So that it takes seconds, signatures
// of transactions are CheapSignatures; receipts, chain heads and verdicts are really signed.
#include <gtest/gtest.h>

#include <commensal/lab/economy/testing/economy.hpp>

namespace commensal::economy {
namespace {

using namespace testing;

struct Month {
  Digest digest{};
  Counts counts;
};

Month live(std::uint64_t seed, const Plan& plan = {}, bool verify = false) {
  Economy economy(seed, plan);
  const auto done = economy.run();
  EXPECT_TRUE(done) << done.error().message;
  if (verify) {
    const auto verified = economy.verify();
    EXPECT_TRUE(verified) << verified.error().message;
  }
  if (!done) return {};
  const auto digest = economy.digest();
  EXPECT_TRUE(digest) << digest.error().message;
  return {*digest, economy.counts()};
}

void print(const Month& month) {
  const Counts& n = month.counts;
  fmt::print("{} rounds, {} tickets and {} never countersigned, {} crashes survived\n", n.rounds,
             n.tickets, n.voided, n.crashes);
  fmt::print(
      "{} winners opened: {} paid by a verdict, {} without one, {} refused; {} kept silent\n",
      n.winners, n.paid, n.matured, n.refused, n.silent);
  fmt::print("reveals withheld: {} tickets paid by gateways, {} providers' rounds slashed\n",
             n.defaults_of_gateways, n.defaults_of_providers);
  fmt::print("units: {} came in, {} went out, {} paid for tickets, {} slashed, {} burnt\n",
             n.came_in, n.went_out, n.paid_out, n.slashed, n.burnt);
  fmt::print("state {}\n", core::to_hex(month.digest));
}

TEST(MoneyMonth, FiftyGatewaysAndFiveHundredProvidersLiveTheSameMonthAgain) {
  const Month month = live(1, {}, true);
  print(month);
  const Counts& n = month.counts;
  for (const std::uint64_t happened :
       {n.voided, n.winners, n.paid, n.matured, n.refused, n.silent, n.defaults_of_gateways,
        n.defaults_of_providers, n.crashes, n.came_in, n.went_out, n.slashed, n.burnt}) {
    EXPECT_GT(happened, 0u);
  }
  EXPECT_EQ(n.rounds, 120u);
  const Month again = live(1);
  EXPECT_EQ(again.digest, month.digest);
  EXPECT_EQ(again.counts, n);
}

/// A tenth of the market is enough to see it.
TEST(MoneyMonth, AnotherSeedIsAnotherMonth) {
  constexpr Plan kTenth{5, 50, 120};
  EXPECT_NE(live(1, kTenth).digest, live(2, kTenth).digest);
}

}  // namespace
}  // namespace commensal::economy
