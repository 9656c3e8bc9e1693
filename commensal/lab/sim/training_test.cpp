// SPDX-License-Identifier: Apache-2.0
// Trainings as rollouts between the daemons' own code: who lies about one is caught by proof, and
// the training goes back to before the lie and ends, with another provider, in the bits of an
// honest one.
#include <commensal/compute/train/segment.hpp>
#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>
#include <commensal/lab/sim/training_cheats.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using ledger::CaseStatus;
using train::testing::SmallTraining;

constexpr std::int64_t kEach = 4;
constexpr double kRate = 0.02;

class MoneyTrainings : public MoneyRollouts {
 protected:
  train::Trainer trainer() const {
    auto made = train::Trainer::create(*train::read_plan(training_.plan()), {});
    EXPECT_TRUE(made) << made.error().message;
    return std::move(made).value();
  }
  std::string local_digest() const {
    train::Trainer local = trainer();
    while (local.done() < local.plan().steps) EXPECT_TRUE(local.step());
    return core::to_hex(local.weights_digest());
  }
  void prepare_training(Market& market, const train::Trainer& trainer) {
    prepare(market);
    const auto segment = train::make_segment(trainer, kEach);
    ASSERT_TRUE(segment) << segment.error().message;
    const auto pushed = market.push("training", segment->model);
    ASSERT_TRUE(pushed) << pushed.error().message;
  }
  /// One rollout from where the trainer is, to its end, which the trainer goes to as far as that is
  /// trusted.
  RolloutStatus go_on(Market& market, train::Trainer& trainer) {
    gateway::RolloutRequest request{
        .account = kConsumer,
        .key = fmt::format("training {}", ++rollouts_),
        .model = "consumer/training",
        .version = 0,
        .inputs = train::segment_inputs(trainer),
        .feeds = {},
        .steps = static_cast<std::uint64_t>((trainer.plan().steps - trainer.done()) / kEach),
        .noise_exponent = std::nullopt,
        .states = protocol::StateRule::kFinite,
        .audit_probability = 1};
    for (const auto& input : request.inputs)
      request.feeds.emplace_back(train::next_of(input.name), input.name);
    const RolloutStatus status = drive(market, request);
    for (std::uint64_t step = 1; step <= status.trusted_steps; ++step) {
      const auto record = market.gateway().rollouts().step(status.entry.id, step);
      EXPECT_TRUE(record) << record.error().message;
      const auto taken = train::take_segment(trainer, record->outputs, trainer.done() + kEach);
      EXPECT_TRUE(taken) << taken.error().message;
    }
    return status;
  }

  const SmallTraining training_{fmt::format(
      "steps: 32\noptimiser: {{kind: momentum, rate: {}, momentum: 0.9, decay: 0.001}}\n", kRate)};
  int rollouts_ = 0;
};

TEST_F(MoneyTrainings, AnHonestOneEndsInTheBitsOfTheLocalOne) {
  auto market = open(71, 0.5);
  train::Trainer remote = trainer();
  prepare_training(*market, remote);
  const std::size_t honest = add(*market, "honest");
  const RolloutStatus status = go_on(*market, remote);
  EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
  EXPECT_EQ(status.trusted_steps, 8u);
  EXPECT_EQ(status.audits.matched, 8u);
  EXPECT_EQ(remote.done(), 32);
  EXPECT_EQ(core::to_hex(remote.weights_digest()), local_digest());
  EXPECT_EQ(stake(*market, honest), terms_.provider.stake);
}

TEST_F(MoneyTrainings, EveryLieIsCaughtAndTheTrainingGoesBackToBeforeIt) {
  auto market = open(72, 0.5);
  train::Trainer remote = trainer();
  prepare_training(*market, remote);
  // Each is right about one segment, then lies about the next.
  std::vector<std::size_t> cheats;
  for (const std::string_view name : enum_names(TrainingLie{})) {
    SCOPED_TRACE(name);
    const auto lie = static_cast<TrainingLie>(cheats.size());
    const std::size_t cheat = add(*market, std::string(name),
                                  make_training_cheat({.lie = lie, .from = 2, .rate = kRate}));
    const std::int64_t before = remote.done();
    const RolloutStatus status = go_on(*market, remote);
    EXPECT_EQ(status.entry.state, RolloutState::kCaught) << status.entry.reason;
    EXPECT_EQ(status.entry.provider, market->address_of(cheat));
    EXPECT_EQ(status.audits.mismatches, std::set<std::uint64_t>{2});
    EXPECT_EQ(status.trusted_steps, 1u);
    EXPECT_EQ(remote.done(), before + kEach);
    market->rest_ms(5'000);
    cheats.push_back(cheat);
    const auto rows = cases_of(*market);
    ASSERT_EQ(rows.size(), cheats.size());
    for (const ledger::CaseRow& row : rows) EXPECT_EQ(row.status, CaseStatus::kConvicted);
    EXPECT_EQ(stake(*market, cheat), Amount());
  }
  EXPECT_EQ(market->money().conceded, 0u);
  const std::size_t honest = add(*market, "honest");
  const RolloutStatus status = go_on(*market, remote);
  EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
  EXPECT_EQ(status.entry.provider, market->address_of(honest));
  EXPECT_EQ(remote.done(), 32);
  EXPECT_EQ(core::to_hex(remote.weights_digest()), local_digest());
  EXPECT_EQ(stake(*market, honest), terms_.provider.stake);
  EXPECT_TRUE(ledger::check_all(market->gateway().ledger()));
}

}  // namespace
}  // namespace commensal::sim
