// SPDX-License-Identifier: Apache-2.0
// A gateway whose disk takes its time: what is on its way to it is neither said too early, nor
// overtaken, nor held against anybody.
#include <commensal/lab/sim/testing/money_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;

struct SimDisk : MoneyTrip {
  /// What it takes until one request is answered, without money.
  std::int64_t answer_ms(std::int64_t disk_ms) {
    Market market(4, scratch("disk-plain"));
    EXPECT_TRUE(market.start_gateway());
    EXPECT_TRUE(market.push("digits", digits()));
    market.add_provider("a");
    const auto first = market.infer("digits", picture(0));
    EXPECT_TRUE(first) << first.error().message;
    market.set_disk_ms(disk_ms);
    const std::int64_t since_ns = market.clock().monotonic_ns();
    std::optional<std::int64_t> answered_ns;
    market.ask("digits", picture(1), [&](const core::Result<gateway::InferResponse>& answer) {
      EXPECT_TRUE(answer);
      answered_ns = market.clock().monotonic_ns();
    });
    market.rest_ms(60'000);
    EXPECT_TRUE(answered_ns);
    return (answered_ns.value_or(0) - since_ns) / 1'000'000;
  }
};

// The provider is a second away and hears of each round's reveal as late as of the signatures.
TEST_F(SimDisk, NoRevealOvertakesTheSignaturesOfItsRound) {
  for (const std::int64_t disk_ms : {10, 50, 200}) {
    SCOPED_TRACE(disk_ms);
    auto market = open(11, 1, [](Terms& terms) {
      terms.gateway.round_ms = 1000;
      terms.gateway.rules.opening_rounds = 4;
      terms.consumer_deposit = terms.gateway_escrow = Amount(1'000'000'000);
    });
    prepare(*market);
    market->set_delay_ms(1050);
    const std::size_t far = market->add_provider("far");
    ASSERT_TRUE(market->gateway().deposit(market->address_of(far), terms_.provider.stake,
                                          reference("far")));
    market->rest_ms(6'000);
    market->set_disk_ms(disk_ms);
    for (std::uint64_t i = 0; i < 300; ++i) {
      market->ask("digits", picture(i), [](const auto&) {});
      market->rest_ms(241);
    }
    market->rest_ms(60'000);
    const auto status = market->status_of(far);
    EXPECT_GT(status.delivered, 100u);
    EXPECT_EQ(status.tickets.paid, status.delivered);
    EXPECT_EQ(market->gateway().tickets().totals().slashed, 0u);
    EXPECT_EQ(balance(*market, market->address_of(far), AccountKind::kStake),
              terms_.provider.stake);
  }
}

TEST_F(SimDisk, ThatIsSlowIsNoSilenceOfAProvider) {
  auto market = open(12, 1, [](Terms& terms) { terms.gateway.round_ms = 120'000; });
  prepare(*market);
  const std::size_t a = add(*market, "a");
  ASSERT_TRUE(market->infer("digits", picture(0)));
  market->set_disk_ms(12'000);  // more than silence_ms_max
  ASSERT_TRUE(market->infer("digits", picture(1)));
  EXPECT_EQ(market->status_of(a).delivered, 2u);
}

TEST_F(SimDisk, IsWaitedForOnceWhereNothingIsOwed) {
  EXPECT_LT(answer_ms(3'000) - answer_ms(0), 2 * 3'000);
}

}  // namespace
}  // namespace commensal::sim
