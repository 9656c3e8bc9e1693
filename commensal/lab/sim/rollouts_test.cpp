// SPDX-License-Identifier: Apache-2.0
// Rollouts on the whole trip in one thread, in virtual time: with money, with cheats, and with a
// crash at every write of either side.
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>
#include <limits>

namespace commensal::sim {
namespace {

using namespace testing;
using store::testing::Fault;

/// Says when it computes a step.
class Watched final : public rollout::EngineFactory {
 public:
  explicit Watched(std::function<void()> watch) : watch_(std::move(watch)) {}
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path& file,
                                                      const std::vector<protocol::Feed>& feeds,
                                                      const std::stop_token& cancel) override {
    COMMENSAL_ASSIGN(auto engine, honest_.load(file, feeds, cancel));
    return std::make_unique<Engine>(std::move(engine), watch_);
  }

 private:
  class Engine final : public rollout::Engine {
   public:
    Engine(std::unique_ptr<rollout::Engine> honest, const std::function<void()>& watch)
        : honest_(std::move(honest)), watch_(watch) {}
    const receipt::ModelRoots& roots() const override { return honest_->roots(); }
    const graph::Graph& graph() const override { return honest_->graph(); }
    core::Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                                      const std::optional<noise::Noise>& noise,
                                      const graph::RunOptions& options) override {
      watch_();
      return honest_->run(step, inputs, noise, options);
    }

   private:
    std::unique_ptr<rollout::Engine> honest_;
    const std::function<void()>& watch_;
  };
  const std::function<void()> watch_;
  rollout::SessionEngineFactory honest_{graph::SessionOptions{}};
};

TEST_F(MoneyRollouts, EveryStepIsPaidForAndItsTicketDrawn) {
  auto market = open(31, 0.3);
  prepare_letters(*market);
  const std::vector<crypto::Address> providers = {market->address_of(add(*market, "a"))};
  const RolloutStatus status = drive(*market, letters(40, 16, 0.1));
  EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
  EXPECT_EQ(status.entry.steps_done, 40u);
  EXPECT_TRUE(status.audits.mismatches.empty());
  market->rest_ms(10'000);
  check(*market, providers);
  EXPECT_EQ(market->gateway().tickets_pending(), 0u);
  const ticket::Totals& totals = market->gateway().tickets().totals();
  EXPECT_EQ(totals.issued, 40u);
  EXPECT_GT(totals.won, 3u);
  EXPECT_EQ(totals.paid, totals.won);
  EXPECT_EQ(market->status_of(0).tickets.paid, totals.paid);
  EXPECT_EQ(
      balance(*market, market->gateway().account_address("consumer"), AccountKind::kAvailable),
      *terms_.consumer_deposit.minus(*terms_.gateway.price.times(Amount(40))));
}

// The fault: that it has shown no hash chain was said before.
TEST_F(MoneyRollouts, WhoIsAwayAfterAStartOfTheGatewayIsSaidToBe) {
  auto market = open(34, 0.3);
  prepare_letters(*market);
  const std::size_t only = add(*market, "a");
  gateway::RolloutRequest request = letters(3, 16, 0);
  EXPECT_EQ(drive(*market, request).entry.state, RolloutState::kFinished);
  market->rest_ms(limits::kPresenceWriteMs);
  market->kill_gateway();
  market->kill_provider(only);
  ASSERT_TRUE(market->start_gateway());
  request.key = "two";
  const auto refused = [&] { return market->gateway().rollouts().create(request).error().message; };
  EXPECT_NE(refused().find("has not come back yet"), std::string::npos) << refused();
  market->rest_ms(limits::kReturnMsMax + 1);
  EXPECT_NE(refused().find("is not connected"), std::string::npos) << refused();
}

TEST_F(MoneyRollouts, ACheatIsSlashedAndItsRolloutsEnd) {
  auto market = open(32, 0.3);
  prepare_letters(*market);
  const std::size_t cheat =
      add(*market, "cheat", make_rollout_cheat({{7, "gates"}, {8, "gates"}, {9, "gates"}}));
  const RolloutStatus status = drive(*market, letters(200, 16, 1));
  EXPECT_EQ(status.entry.state, RolloutState::kCaught);
  EXPECT_EQ(*status.audits.mismatches.begin(), 7u);
  EXPECT_NE(status.entry.reason.find("step 7 of rollout"), std::string::npos);
  for (const auto& info : market->gateway().providers()) {
    EXPECT_NE(info.banned, "") << info.name;
  }
  market->rest_ms(60'000);
  check(*market, {market->address_of(cheat)});
}

TEST_F(MoneyRollouts, AStateThatIsNotFiniteIsSaidToBeByACode) {
  auto market = open(37, 0.3);
  prepare_letters(*market);
  add(*market, "honest");
  gateway::RolloutRequest request = letters(3, {}, 0);
  const std::vector<float> state(160, std::numeric_limits<float>::infinity());
  request.inputs[1].value = tensor::Tensor::of<float>({1, 160}, state);
  const RolloutStatus status = drive(*market, request);
  EXPECT_EQ(status.entry.state, RolloutState::kFailed);
  EXPECT_EQ(status.entry.reason_code, gateway::kNotFinite) << status.entry.reason;
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  const auto again = market->gateway().rollouts().status(status.entry.id);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->entry.reason_code, "") << "it is kept in memory alone";
}

// Else the price of all steps would be set aside for ever.
TEST_F(MoneyRollouts, EndsWhereItsProviderGoesAwayForGood) {
  auto market = open(36, 0.3);
  prepare_letters(*market);
  const std::size_t only = add(*market, "only");
  const auto made = market->gateway().rollouts().create(letters(200, 16, 0.1));
  ASSERT_TRUE(made) << made.error().message;
  market->kill_provider(only);
  market->rest_ms(limits::kRolloutAwayMsMax / 2);
  const auto status = [&] { return *market->gateway().rollouts().status(made->entry.id); };
  EXPECT_EQ(status().entry.state, RolloutState::kRunning);
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(limits::kRolloutAwayMsMax + 1000);
  EXPECT_EQ(status().entry.state, RolloutState::kFailed);
  EXPECT_EQ(status().entry.reason, "its provider was away for 60 minutes");
  EXPECT_EQ(status().entry.reason_code, "");
}

TEST_F(MoneyRollouts, WhoCannotPayForAllStepsIsRefusedUntilItCan) {
  auto market = open(33, 0.3, [](Terms& terms) {
    terms.consumer_deposit = *terms.gateway.price.times(Amount(5));
  });
  prepare_letters(*market);
  add(*market, "a");
  gateway::Gateway& live = market->gateway();
  const auto unpaid = live.rollouts().create(letters(9, {}, 0));
  ASSERT_FALSE(unpaid);
  const std::string refused = unpaid.error().message;
  EXPECT_NE(refused.find("account 'consumer' can't pay"), std::string::npos) << refused;
  ASSERT_TRUE(
      live.deposit(live.account_address("consumer"), terms_.consumer_deposit, reference("more")));
  const RolloutStatus status = drive(*market, letters(9, {}, 0));
  EXPECT_EQ(status.entry.state, RolloutState::kFinished);
  EXPECT_EQ(status.entry.steps_done, 9u);
}

TEST_F(MoneyRollouts, ARolloutWaitsWhereThePriceWasRaisedUntilItCanBePaid) {
  auto market = open(35, 0.3, [](Terms& terms) {
    terms.consumer_deposit = *terms.gateway.price.times(Amount(9));
  });
  prepare_letters(*market);
  add(*market, "a");
  const auto made = market->gateway().rollouts().create(letters(9, {}, 0));
  ASSERT_TRUE(made) << made.error().message;
  market->kill_provider(0);  // before its first step
  const core::Digest id = made->entry.id;
  market->kill_gateway();
  market->set_price(*terms_.gateway.price.times(Amount(4)));
  ASSERT_TRUE(market->start_gateway());
  market->start_provider(0);
  market->rest_ms(30'000);
  const RolloutStatus waiting = *market->gateway().rollouts().status(id);
  EXPECT_EQ(waiting.entry.state, RolloutState::kRunning);
  EXPECT_EQ(waiting.entry.steps_done, 2u);
  EXPECT_NE(waiting.entry.reason.find("can't pay"), std::string::npos) << waiting.entry.reason;
  gateway::Gateway& live = market->gateway();
  ASSERT_TRUE(live.deposit(live.account_address("consumer"),
                           *terms_.consumer_deposit.times(Amount(4)), reference("more")));
  market->rest_ms(30'000);
  EXPECT_EQ(live.rollouts().status(id)->entry.state, RolloutState::kFinished);
}

TEST_F(MoneyRollouts, OnTheBalanceOfOneOnlyOneIsMadeAndItIsNotPaidOut) {
  auto market = open(36, 0.3, [](Terms& terms) { terms.consumer_deposit = terms.gateway.price; });
  prepare_letters(*market);
  add(*market, "a");
  gateway::Gateway& live = market->gateway();
  std::vector<core::Digest> made;
  int refused = 0;
  for (int i = 0; i < 64; ++i) {
    gateway::RolloutRequest request = letters(1, {}, 0);
    request.key = std::to_string(i);
    const auto status = live.rollouts().create(std::move(request));
    if (status) {
      made.push_back(status->entry.id);
      continue;
    }
    EXPECT_EQ(status.error().code, core::ErrorCode::kResourceExhausted);
    EXPECT_NE(status.error().message.find("can't pay"), std::string::npos);
    ++refused;
  }
  EXPECT_EQ(refused, 63);
  const auto paid_out = live.withdraw("consumer", terms_.gateway.price);
  ASSERT_FALSE(paid_out);
  EXPECT_EQ(paid_out.error().code, core::ErrorCode::kFailedPrecondition);
  market->rest_ms(10'000);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(live.rollouts().status(made[0])->entry.state, RolloutState::kFinished);
}

TEST_F(MoneyRollouts, TheOldestThatAreOverMakeRoomWithTheirReceipts) {
  rollouts_kept_max_ = 2;
  auto market = open(37, 0.3);
  prepare_letters(*market);
  add(*market, "a");
  std::vector<RolloutStatus> made;
  for (int i = 0; i < 5; ++i) {
    gateway::RolloutRequest request = letters(3, {}, 0.5);
    request.key = std::to_string(i);
    made.push_back(drive(*market, request));
    EXPECT_EQ(made.back().entry.state, RolloutState::kFinished) << made.back().entry.reason;
    market->rest_ms(60'000);  // all tickets are decided
  }
  gateway::Gateway& live = market->gateway();
  EXPECT_EQ(live.rollouts().list("", 9).size(), 2u);
  EXPECT_EQ(live.rollouts().status(made[0].entry.id).error().code, core::ErrorCode::kNotFound);
  EXPECT_FALSE(live.rollouts().step(made[0].entry.id, 1));
  EXPECT_TRUE(live.rollouts().step(made[4].entry.id, 1));
  EXPECT_EQ(live.receipts().select([](const auto&) { return true; })->size(), 6u);
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  EXPECT_EQ(market->gateway().rollouts().list("", 9).size(), 2u);
}

TEST_F(MoneyRollouts, AStepInHandCountsWhereTheNextJobIsPlaced) {
  auto market = open(39, 0.3);
  prepare_letters(*market);
  std::vector<std::uint32_t> queued;
  add(*market, "a", std::make_unique<Watched>([&] {
    queued.push_back(market->gateway().providers()[0].queued);
  }));
  const RolloutStatus status = drive(*market, letters(4, {}, 0));
  EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
  EXPECT_EQ(queued, std::vector<std::uint32_t>(4, 1));
  EXPECT_EQ(market->gateway().providers()[0].queued, 0u);
}

// The fault: only who asked for single answers counted as asking, so that whoever sent many had all
// providers to itself beside other people's rollouts.
TEST_F(MoneyRollouts, WhoSendsManyRequestsLeavesRoomForTheStepsOfOthers) {
  auto market = open(47, 0.3);
  prepare_letters(*market);
  gateway::Gateway& live = market->gateway();
  ASSERT_TRUE(live.deposit(live.account_address("other"), terms_.consumer_deposit, reference("o")));
  std::uint32_t queued_max = 0;
  add(*market, "a", std::make_unique<Watched>([&] {
    queued_max = std::max(queued_max, live.providers()[0].queued);
  }));
  ASSERT_TRUE(market->infer("digits", picture(0)));  // it is known how long one takes
  market->rest_ms(2 * limits::kOthersMs);
  ASSERT_TRUE(live.rollouts().create(letters(4, {}, 0)));
  int answers = 0;
  for (std::uint64_t i = 1; i <= 30; ++i) {
    live.infer({.account = {.name = "other", .role = gateway::Role::kConsumer},
                .model = "consumer/digits",
                .version = 0,
                .inputs = picture(i),
                .outputs = {}},
               [&](const auto& answer) { answers += answer.has_value(); });
  }
  market->rest_ms(10'000);
  EXPECT_EQ(answers, 30);
  EXPECT_LE(queued_max, limits::kAccountJobsMax + 1);
}

TEST_F(MoneyRollouts, WhoWillNotBeginItGivesWayToAnother) {
  auto market = open(40, 0.3);
  prepare_letters(*market);
  const auto refusals = std::make_shared<int>(1);
  for (const char* name : {"a", "b"}) add(*market, name, make_refusing(refusals));
  const auto made = market->gateway().rollouts().create(letters(4, 16, 0));
  ASSERT_TRUE(made) << made.error().message;
  market->rest_ms(1'000);
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(12'000);
  const RolloutStatus status = drive(*market, letters(4, 16, 0));
  EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
  EXPECT_EQ(status.entry.id, made->entry.id);
  EXPECT_NE(status.entry.provider, made->entry.provider);
  EXPECT_EQ(status.entry.steps_done, 4u);
  const auto record = market->gateway().rollouts().record(made->entry.id);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->job.provider, status.entry.provider);
  EXPECT_NE(record->job.noise_anchor, core::Digest{});
  EXPECT_EQ(
      balance(*market, market->gateway().account_address("consumer"), AccountKind::kAvailable),
      *terms_.consumer_deposit.minus(*terms_.gateway.price.times(Amount(4))));
}

TEST_F(MoneyRollouts, WhereAllRefuseItForGoodItEnds) {
  auto market = open(41, 0.3);
  prepare_letters(*market);
  const auto refusals = std::make_shared<int>(2);
  for (const char* name : {"a", "b"}) add(*market, name, make_refusing(refusals));
  const RolloutStatus status = drive(*market, letters(4, 16, 0));
  EXPECT_EQ(status.entry.state, RolloutState::kFailed);
  EXPECT_EQ(status.entry.reason, "not this one");
  EXPECT_EQ(status.entry.reason_code, "");
}

TEST_F(MoneyRollouts, ARunningRolloutMakesNoRoom) {
  rollouts_kept_max_ = 1;
  auto market = open(38, 0.3);
  prepare_letters(*market);
  add(*market, "a");
  gateway::RolloutRequest request = letters(20, 16, 0);
  const auto running = market->gateway().rollouts().create(request);
  ASSERT_TRUE(running) << running.error().message;
  market->kill_provider(0);
  add(*market, "b");
  request.key = "two";
  const auto refused = market->gateway().rollouts().create(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "1 rollouts are kept, at most 1, and none of them is over");
  EXPECT_TRUE(market->gateway().rollouts().status(running->entry.id));
}

TEST_F(MoneyRollouts, ACrashAtAnyWriteOfEitherSideLeadsToTheSameState) {
  const gateway::RolloutRequest request = letters(5, {}, 0.3);
  core::Digest expected{};
  for (const bool of_gateway : {true, false}) {
    for (std::uint64_t write = 0; write < 28; ++write) {
      for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
        SCOPED_TRACE(fmt::format("{} {}", of_gateway ? "gateway" : "provider", write));
        auto market = open(34, 0.5);
        prepare_letters(*market);
        const std::vector<crypto::Address> providers = {market->address_of(add(*market, "a"))};
        if (of_gateway) {
          market->kill_gateway();
          market->break_gateway_at(write, fault);
          (void)market->start_gateway();
        } else {
          market->kill_provider(0);
          market->break_provider_at(0, write, fault);
          market->start_provider(0);
          market->gateway().rollouts().create(request);
          market->rest_ms(1'000);
          market->kill_provider(0);
          market->start_provider(0);
        }
        market->rest_ms(12'000);
        const RolloutStatus status = drive(*market, request);
        ASSERT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
        ASSERT_EQ(status.entry.steps_done, 5u);
        ASSERT_TRUE(status.audits.mismatches.empty());
        if (expected == core::Digest{}) expected = status.entry.final_root;
        ASSERT_EQ(status.entry.final_root, expected);
        market->rest_ms(60'000);
        check(*market, providers);
        ASSERT_EQ(balance(*market, providers[0], AccountKind::kStake), terms_.provider.stake);
      }
    }
  }
}

// A stake stays locked for so long: wrong steps beyond it would cost nothing.
TEST_F(MoneyRollouts, EndsWhileItsStepsCanStillBeAccused) {
  auto market =
      open(90, 0.5, [](Terms& terms) { terms.gateway.rules.withdrawal_delay_ms = 8'000; });
  prepare_letters(*market);
  market->set_delay_ms(50);
  const std::size_t index = market->add_provider("slow");
  ASSERT_TRUE(market->gateway().deposit(market->address_of(index), terms_.provider.stake,
                                        reference("slow")));
  market->rest_ms(3'000);
  const RolloutStatus status = drive(*market, letters(100, 16, 0));
  EXPECT_EQ(status.entry.state, RolloutState::kFailed);
  EXPECT_NE(status.entry.reason.find("accused of its later steps"), std::string::npos)
      << status.entry.reason;
  // Four of eight seconds the job is valid, and an audit has two of these.
  EXPECT_GT(status.entry.steps_done, 3u);
  EXPECT_LT(status.entry.steps_done, 40u);
}

}  // namespace
}  // namespace commensal::sim
