// SPDX-License-Identifier: Apache-2.0
// What states of rollouts take on a gateway's disk counts as its account's, and who cancels one.
#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;

class MoneyRolloutRoom : public MoneyRollouts {
 protected:
  static constexpr std::int64_t kRoom = 60'000;  // beside the models

  std::unique_ptr<Market> open_small(std::uint64_t seed) {
    const auto models = digits().size() + core::read_file(kLetters)->size();
    quotas_.models.bytes_max = static_cast<std::int64_t>(models) + kRoom;
    auto market = open(seed, 0.3);
    prepare_letters(*market);
    add(*market, "a");
    return market;
  }
  static RolloutStatus run(Market& market, const std::string& key, std::uint64_t steps) {
    gateway::RolloutRequest request = letters(steps, {}, 0);
    request.key = key;
    const RolloutStatus status = drive(market, request);
    market.rest_ms(60'000);  // all tickets are decided
    return status;
  }
  /// A rollout whose first step is signed for, and on its way for a while yet.
  core::Digest begin_first_step(Market& market, std::uint64_t steps) {
    prepare_letters(market);
    add(market, "a");
    market.set_delay_ms(50);  // of streams that begin now
    market.kill_provider(0);
    market.start_provider(0);
    market.rest_ms(2'000);
    bool is_signed = false;
    market.overhear([&](std::size_t, const rpc::ToProvider& word) {
      is_signed = is_signed || std::holds_alternative<rpc::Countersign>(word);
    });
    const auto made = market.gateway().rollouts().create(letters(steps, {}, 0));
    EXPECT_TRUE(made) << made.error().message;
    for (int ms = 0; ms < 10'000 && !is_signed; ++ms) market.rest_ms(1);
    market.overhear(nullptr);
    EXPECT_TRUE(is_signed);
    const RolloutStatus now = *market.gateway().rollouts().status(made->entry.id);
    EXPECT_EQ(now.entry.steps_done, 0u);
    EXPECT_EQ(now.entry.state, RolloutState::kRunning);
    return made->entry.id;
  }
};

// The fault: of rollouts their number was bounded, so that free credit filled the disk.
TEST_F(MoneyRolloutRoom, OneEndsWhereItsAccountMayKeepNoMoreAndGivesWayToTheNext) {
  auto market = open_small(61);
  const RolloutStatus first = run(*market, "first", 200);
  EXPECT_EQ(first.entry.state, RolloutState::kFailed);
  EXPECT_NE(first.entry.reason.find("and 'consumer' may keep"), std::string::npos)
      << first.entry.reason;
  EXPECT_NE(first.entry.reason.find("go on in another rollout"), std::string::npos);
  EXPECT_GT(first.entry.steps_done, 5u);
  EXPECT_LT(first.entry.steps_done, 100u);
  EXPECT_EQ(first.trusted_steps, first.entry.steps_done);
  gateway::Rollouts& rollouts = market->gateway().rollouts();
  for (std::uint64_t step = 1; step <= first.entry.steps_done; ++step)
    EXPECT_TRUE(rollouts.step(first.entry.id, step));
  // Its price, no more: the steps that were not made are not paid.
  EXPECT_EQ(
      balance(*market, market->gateway().account_address("consumer"), AccountKind::kAvailable),
      *terms_.consumer_deposit.minus(*terms_.gateway.price.times(Amount(first.entry.steps_done))));
  const RolloutStatus second = run(*market, "second", 5);
  EXPECT_EQ(second.entry.state, RolloutState::kFinished) << second.entry.reason;
  EXPECT_FALSE(rollouts.status(first.entry.id));
  EXPECT_TRUE(rollouts.step(second.entry.id, 1));
}

TEST_F(MoneyRolloutRoom, IsCountedAfterARestartToo) {
  auto market = open_small(62);
  const RolloutStatus first = run(*market, "first", 8);
  EXPECT_EQ(first.entry.state, RolloutState::kFinished) << first.entry.reason;
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(12'000);
  const RolloutStatus second = run(*market, "second", 200);
  EXPECT_EQ(second.entry.state, RolloutState::kFailed);
  EXPECT_FALSE(market->gateway().rollouts().status(first.entry.id));
  EXPECT_LE(*market->gateway().rollouts().shrink("consumer", kRoom), kRoom);
}

TEST_F(MoneyRolloutRoom, AModelTakesThePlaceOfThoseThatAreOver) {
  auto market = open_small(63);
  const RolloutStatus first = run(*market, "first", 200);
  EXPECT_EQ(first.entry.state, RolloutState::kFailed);
  const auto pushed = market->push("more", train::testing::small_model());
  EXPECT_TRUE(pushed) << pushed.error().message;
  EXPECT_FALSE(market->gateway().rollouts().status(first.entry.id));
}

TEST_F(MoneyRolloutRoom, OneThatCouldNeverBeKeptIsRefused) {
  quotas_.models.bytes_max =
      static_cast<std::int64_t>(digits().size() + core::read_file(kLetters)->size() + 1'000);
  auto market = open(64, 0.3);
  prepare_letters(*market);
  add(*market, "a");
  const auto refused = market->gateway().rollouts().create(letters(9, {}, 0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message,
            "the next state takes 1296 bytes, and 'consumer' may keep 1000 more of its rollouts "
            "(those that are over count while they are needed)");
  EXPECT_EQ(
      balance(*market, market->gateway().account_address("consumer"), AccountKind::kAvailable),
      terms_.consumer_deposit);
}

TEST_F(MoneyRolloutRoom, WhatIsCancelledKeepsAndPaysWhatWasMade) {
  auto market = open(65, 0.3);
  prepare_letters(*market);
  const std::vector<crypto::Address> providers = {market->address_of(add(*market, "a"))};
  const auto made = market->gateway().rollouts().create(letters(200, {}, 1));
  ASSERT_TRUE(made) << made.error().message;
  market->rest_ms(60);
  gateway::Rollouts& rollouts = market->gateway().rollouts();
  const auto cancelled = rollouts.cancel(made->entry.id);
  ASSERT_TRUE(cancelled) << cancelled.error().message;
  EXPECT_EQ(cancelled->entry.state, RolloutState::kCancelled);
  market->rest_ms(60'000);
  const RolloutStatus after = *rollouts.status(made->entry.id);
  EXPECT_EQ(after.entry.reason, "its account has cancelled it");
  EXPECT_GT(after.entry.steps_done, 0u);
  EXPECT_LT(after.entry.steps_done, 200u);
  EXPECT_LE(after.entry.steps_done, cancelled->entry.steps_done + 1);
  EXPECT_EQ(after.audits.matched, after.entry.steps_done);
  EXPECT_EQ(after.trusted_steps, after.entry.steps_done);
  EXPECT_EQ(rollouts.cancel(made->entry.id)->entry.steps_done, after.entry.steps_done);
  EXPECT_EQ(
      balance(*market, market->gateway().account_address("consumer"), AccountKind::kAvailable),
      *terms_.consumer_deposit.minus(*terms_.gateway.price.times(Amount(after.entry.steps_done))));
  EXPECT_EQ(market->gateway().tickets().totals().issued, after.entry.steps_done);
  EXPECT_EQ(market->gateway().providers()[0].queued, 0u);
  check(*market, providers);
  EXPECT_EQ(rollouts.cancel(core::Digest{}).error().code, core::ErrorCode::kNotFound);
}

// The fault: with its rollout the price of the step was free again, to be spent elsewhere before it
// was delivered: nobody paid it, and no record of it was kept.
TEST_F(MoneyRolloutRoom, OfOneThatIsCancelledTheStepThatIsSignedForStaysPaidFor) {
  auto market = open(66, 0.3, [](Terms& terms) {
    terms.consumer_deposit = *terms.gateway.price.times(Amount(3));
  });
  const core::Digest id = begin_first_step(*market, 3);
  gateway::Gateway& live = market->gateway();
  ASSERT_EQ(live.rollouts().cancel(id)->entry.state, RolloutState::kCancelled);
  const auto refused = live.withdraw("consumer", terms_.consumer_deposit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(live.withdraw("consumer", *terms_.gateway.price.times(Amount(2))));
  market->rest_ms(60'000);
  EXPECT_EQ(live.rollouts().status(id)->entry.steps_done, 1u);
  EXPECT_TRUE(live.rollouts().step(id, 1));
  EXPECT_EQ(live.receipts().select([](const auto&) { return true; })->size(), 1u);
  const crypto::Address consumer = live.account_address("consumer");
  EXPECT_EQ(balance(*market, consumer, AccountKind::kAvailable), Amount());
  ASSERT_TRUE(live.deposit(consumer, terms_.gateway.price, reference("more")));
  EXPECT_TRUE(live.withdraw("consumer", terms_.gateway.price)) << "nothing is set aside any more";
}

TEST_F(MoneyRolloutRoom, OfOneThatIsCancelledTheStepThatIsLostIsPaidForNoLonger) {
  auto market = open(67, 0.3);
  const core::Digest id = begin_first_step(*market, 3);
  gateway::Gateway& live = market->gateway();
  ASSERT_TRUE(live.rollouts().cancel(id));
  EXPECT_FALSE(live.withdraw("consumer", terms_.consumer_deposit));
  market->kill_provider(0);
  market->rest_ms(1'000);
  EXPECT_TRUE(live.withdraw("consumer", terms_.consumer_deposit));
  EXPECT_EQ(live.rollouts().status(id)->entry.steps_done, 0u);
}

// The fault: it went while its step was on its way, which was then written where nothing listed it.
TEST_F(MoneyRolloutRoom, OneThatIsCancelledMakesNoRoomBeforeItsLastStepIsThere) {
  rollouts_kept_max_ = 1;
  auto market = open(68, 0);  // without tickets, which hold it too until they are decided
  const core::Digest id = begin_first_step(*market, 3);
  gateway::Rollouts& rollouts = market->gateway().rollouts();
  ASSERT_TRUE(rollouts.cancel(id));
  gateway::RolloutRequest next = letters(3, {}, 0);
  next.key = "next";
  const auto refused = rollouts.create(next);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kResourceExhausted) << refused.error().message;
  market->rest_ms(60'000);
  EXPECT_TRUE(rollouts.step(id, 1));
  EXPECT_EQ(drive(*market, next).entry.state, RolloutState::kFinished);
  EXPECT_FALSE(rollouts.status(id));
}

// The fault: the oldest made room, whoever's.
TEST_F(MoneyRolloutRoom, WhoKeepsMostRolloutsMakesRoomForTheNext) {
  rollouts_kept_max_ = 3;
  auto market = open(69, 0.3);
  prepare_letters(*market);
  add(*market, "a");
  gateway::Gateway& live = market->gateway();
  ASSERT_TRUE(
      live.deposit(live.account_address("other"), terms_.consumer_deposit, reference("other")));
  gateway::RolloutRequest others = letters(3, {}, 0);
  others.account.name = "other";
  const core::Digest kept = drive(*market, others).entry.id;
  std::vector<core::Digest> made;
  for (const char* const key : {"1", "2", "3", "4"}) made.push_back(run(*market, key, 3).entry.id);
  EXPECT_TRUE(live.rollouts().status(kept));
  EXPECT_FALSE(live.rollouts().status(made[0]));
  EXPECT_FALSE(live.rollouts().status(made[1]));
  EXPECT_TRUE(live.rollouts().status(made[3]));
}

}  // namespace
}  // namespace commensal::sim
