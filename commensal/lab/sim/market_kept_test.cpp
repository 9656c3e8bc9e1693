// SPDX-License-Identifier: Apache-2.0
// What both sides keep stops growing at its limits, and the money adds up all the same.
#include <commensal/lab/sim/testing/money_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;

struct Kept {
  std::size_t gateway_bytes = 0, provider_bytes = 0, tickets = 0, claims = 0;
};

TEST_F(MoneyTrip, WhatIsKeptStopsGrowing) {
  receipts_.records_max = 100;
  audit_probability_ = 0.1;
  auto market = open(31, 0.1, [](Terms& terms) {
    terms.gateway.rules.opening_rounds = 10;
    terms.gateway.tickets_max = terms.provider.tickets_max = 400;
  });
  prepare(*market);
  ASSERT_TRUE(market->gateway().deposit(market->gateway().account_address("consumer"),
                                        Amount(1'000'000'000), reference("more")));
  const std::size_t provider = add(*market, "a");
  std::uint64_t asked = 0;
  const auto live = [&](std::uint64_t requests) {
    Kept most;
    for (const std::uint64_t end = asked + requests; asked < end; ++asked) {
      const auto answer = market->infer("digits", picture(asked % 50));
      EXPECT_TRUE(answer.has_value()) << answer.error().message;
      market->rest_ms(250);
      const ledger::State& state = market->gateway().ledger();
      most.claims = std::max(most.claims, state.claims.rows().size());
      most.tickets = std::max(most.tickets, market->gateway().tickets().size());
      if (asked % 20 != 0) continue;
      most.gateway_bytes = std::max(most.gateway_bytes, market->stored_bytes());
      most.provider_bytes = std::max(most.provider_bytes, market->stored_bytes(provider));
    }
    return most;
  };
  live(900);
  const Kept first = live(300), later = live(300);
  std::printf(
      "gateway %zu then %zu bytes, provider %zu then %zu, tickets %zu then %zu, decided %zu "
      "then %zu\n",
      first.gateway_bytes, later.gateway_bytes, first.provider_bytes, later.provider_bytes,
      first.tickets, later.tickets, first.claims, later.claims);
  EXPECT_LT(later.gateway_bytes, first.gateway_bytes * 23 / 20);
  EXPECT_LT(later.provider_bytes, first.provider_bytes * 23 / 20);
  EXPECT_LE(later.tickets, 400u);
  EXPECT_LT(later.claims, 60u);
  EXPECT_GT(market->gateway().tickets().totals().paid, 80u);
  market->rest_ms(10'000);
  const auto sound = market->check_money();
  EXPECT_TRUE(sound) << sound.error().message;
}

}  // namespace
}  // namespace commensal::sim
