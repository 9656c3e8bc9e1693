// SPDX-License-Identifier: Apache-2.0
// A life of a market in which everything happens at random: gateway and providers are killed at
// their writes, streams break, somebody cheats, money comes in and leaves. Market itself inspects
// the money after every step; here, that all that can happen did, that in the end everybody's books
// agree, and that the same seed is the same life again.
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/money_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using store::testing::Fault;

struct Life {
  core::Digest state{};
  MoneyCounts money;
  int answers = 0, kills = 0;
};

class MoneyMonth : public MoneyTrip {
 protected:
  static constexpr int kQuietSteps = 30, kSteps = 130;

  Life live(std::uint64_t seed) {
    dice_.emplace(seed);
    life_ = {};
    market_ = open(seed, 0.7, [](Terms& terms) {
      terms.gateway.rules.pattern_mismatches = 2, terms.gateway.rules.pardon_matches = 0;
    });
    prepare(*market_);
    add(*market_, "a");
    shaky_ = add(*market_, "shaky");
    cut_off_ = add(*market_, "cut off");
    add(*market_, "cheat", make_bf16_cheat());
    for (step_ = 0; step_ < kQuietSteps; ++step_) {  // until the cheat is known
      ask();
      market_->rest_ms(100);
    }
    for (; step_ < kSteps; ++step_) {
      turn();
      market_->rest_ms(static_cast<std::int64_t>(below(400)));
      if (market_->gateway_crashed()) revive_gateway();
    }
    kill(shaky_, {});
    market_->rest_ms(120'000);
    const auto sound = market_->check_money();
    EXPECT_TRUE(sound) << sound.error().message;
    life_.state = market_->state_hash();
    life_.money = market_->money();
    market_.reset();
    return life_;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return dice_->next_u64() % bound; }

  void turn() {
    switch (below(10)) {
      case 0:
        return kill(shaky_, std::pair{below(12), static_cast<Fault>(below(4))});
      case 1:
        return market_->cut(cut_off_);
      case 2:
        return move_money();
      case 3:
        if (below(3) == 0) break_gateway();
        return;
      default:
        return ask();
    }
  }
  void ask() {
    const auto picture_now = picture(static_cast<std::uint64_t>(step_));
    if (market_->infer("digits", picture_now, 15'000)) ++life_.answers;
  }
  void kill(std::size_t index, const std::optional<std::pair<std::uint64_t, Fault>>& fault) {
    ++life_.kills;
    market_->kill_provider(index);
    if (fault) market_->break_provider_at(index, fault->first, fault->second);
    market_->start_provider(index);
  }
  void break_gateway() {
    ++life_.kills;
    market_->kill_gateway();
    market_->break_gateway_at(below(40), below(2) == 0 ? Fault::kCrashBefore : Fault::kCrashAfter);
    if (!market_->start_gateway()) revive_gateway();
    market_->rest_ms(15'000);  // the providers dial again
  }
  void revive_gateway() {
    market_->kill_gateway();
    ASSERT_TRUE(market_->start_gateway());
    market_->rest_ms(15'000);
  }
  /// What is refused, for want of money, is refused.
  void move_money() {
    gateway::Gateway& live = market_->gateway();
    const std::string paid = fmt::format("deposit {}", step_);
    (void)live.deposit(live.account_address("consumer"), Amount(100'000), reference(paid));
    (void)live.withdraw("consumer", Amount(1'000 + below(100'000)));
  }

  std::optional<core::CounterRng> dice_;
  std::unique_ptr<Market> market_;
  std::size_t shaky_ = 0, cut_off_ = 0;
  int step_ = 0;
  Life life_;
};

TEST_F(MoneyMonth, EverythingHappensAndTheSameAgainFromTheSameSeed) {
  const Life life = live(1);
  const MoneyCounts& money = life.money;
  fmt::print("{} answers, {} kills; {} winners: {} paid, {} refused\n", life.answers, life.kills,
             money.opened, money.paid, money.refused);
  fmt::print("units: {} came in, {} went out, {} paid for tickets, {} slashed, {} burnt\n",
             money.came_in, money.went_out, money.paid_out, money.slashed, money.burnt);
  for (const std::uint64_t happened :
       {money.opened, money.paid, money.refused, money.came_in, money.went_out, money.paid_out,
        money.slashed, money.burnt}) {
    EXPECT_GT(happened, 0u);
  }
  EXPECT_GT(life.answers, kQuietSteps);
  EXPECT_GT(life.kills, 5);
  const Life again = live(1);
  EXPECT_EQ(again.state, life.state);
  EXPECT_EQ(again.money, life.money);
}

TEST_F(MoneyMonth, OtherSeedsAreOtherLives) {
  std::set<core::Digest> states;
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    states.insert(live(seed).state);
  }
  EXPECT_EQ(states.size(), 4u);
}

}  // namespace
}  // namespace commensal::sim
