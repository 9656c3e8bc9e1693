// SPDX-License-Identifier: Apache-2.0
// What a training's state rests on, and what is known of that only later.
#include <commensal/serve/client/training/testing/remote_trainings.hpp>

namespace commensal::training {
namespace {

using testing::Act;
using ::testing::ElementsAre;
using testing::Lie;
using testing::Listener;

class RolloutChains : public testing::RemoteTrainings {};

/// Ends after so many segments, of which an audit has confirmed the first.
Act part_of(std::uint64_t made) {
  return {.made = made, .confirmed = 1, .matched = 1, .state = "failed", .reason = "no room"};
}

/// The second of its segments is a lie.
Act lying_part_of(std::uint64_t made) {
  Act act = part_of(made);
  act.lie = Lie::kState;
  return act;
}

// The fault: after the end of its rollout nobody asked about it again.
TEST_F(RolloutChains, GoBackWhereTheFirstOfTwoRolloutsIsCaughtLate) {
  gateway_.script = {lying_part_of(2)};
  gateway_.falls = {{2, {.trusted = 1, .reason = "step 2"}}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "4", "8", "end 8: no room", "rollout", "12",
                                          "back at 4", "end 4: step 2", "rollout", "8", "12"));
}

// The fault: one that is banned for another job was caught in none of these.
TEST_F(RolloutChains, GoBackBeforeTheNextRolloutHoweverTheFallenOneIsCalled) {
  each_ = 2;
  gateway_.script = {lying_part_of(2), part_of(1)};
  gateway_.falls = {{2, {.trusted = 1, .state = "failed", .reason = "no room"}}};
  expect_trained(listener_, {.segments = 6, .audited = 6});
  EXPECT_THAT(listener_.said,
              ElementsAre("rollout", "2", "4", "end 4: no room", "rollout", "6", "end 6: no room",
                          "back at 2", "end 2: no audit has confirmed segment 2 of its 6",
                          "rollout", "4", "6", "8", "10", "12"));
}

TEST_F(RolloutChains, GoBackToWhatARolloutBeganFrom) {
  Act lie = lying_part_of(1);
  lie.lies_from = 1;
  lie.confirmed = 0;
  gateway_.script = {part_of(1), lie};
  gateway_.falls = {{3, {.of = 1, .state = "failed"}}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "4", "end 4: no room", "rollout", "8",
                                          "end 8: no room", "rollout", "12", "back at 4",
                                          "end 4: no audit has confirmed segment 1 of its 2",
                                          "rollout", "rollout", "8", "12"));
}

TEST_F(RolloutChains, GoBackToSegmentsOfAnotherLength) {
  each_ = 5;
  gateway_.script = {lying_part_of(2)};
  gateway_.falls = {{2, {.trusted = 1, .reason = "step 2"}}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said,
              ElementsAre("rollout", "5", "10", "end 10: no room", "rollout", "12", "back at 5",
                          "end 5: step 2", "rollout", "10", "rollout", "12"));
}

TEST_F(RolloutChains, GoBackToTheirBeginning) {
  Act lie = lying_part_of(2);
  lie.confirmed = 0;
  gateway_.script = {lie};
  gateway_.falls = {{2, {.trusted = 0, .reason = "step 1"}}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said,
              ElementsAre("rollout", "4", "8", "end 8: no room", "rollout", "12", "back at 0",
                          "end 0: step 1", "rollout", "rollout", "4", "8", "12"));
}

// The fault: it was judged by counts, of which a later rollout has none below its beginning.
TEST_F(RolloutChains, GoBackAfterARestartThoughTheFallenRolloutLiesBelowALaterOne) {
  each_ = 2;
  gateway_.script = {lying_part_of(2), part_of(2)};
  gateway_.falls = {{3, {.trusted = 1, .state = "failed"}}};
  Listener stopping;
  stopping.stops_at = 10;
  error_of(stopping);
  expect_trained(listener_, {.segments = 6, .audited = 6});
  EXPECT_THAT(listener_.said,
              ElementsAre("back at 2", "end 2: no audit has confirmed segment 2 of its 6",
                          "rollout", "4", "6", "8", "10", "12"));
}

TEST_F(RolloutChains, GoOnAfterARestartWhereAllThatTheyRestOnIsTrusted) {
  each_ = 2;
  gateway_.script = {part_of(2), part_of(2)};
  Listener stopping;
  stopping.stops_at = 10;
  error_of(stopping);
  expect_trained(listener_, {.segments = 6, .audited = 4});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "12"));
  EXPECT_EQ(gateway_.started, 3);
}

TEST_F(RolloutChains, WaitForAnAuditThatIsDrawnLater) {
  gateway_.script = {part_of(2)};
  gateway_.falls = {{2, {.trusted = 2, .state = "failed", .open = 2}}};
  expect_trained(listener_, {.segments = 3, .audited = 2});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "4", "8", "end 8: no room", "rollout", "12"));
}

TEST_F(RolloutChains, WaitForAuditsThatAreOpenAtTheEnd) {
  gateway_.script = {{.open = 2}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "4", "8", "12"));
}

// The fault: what the second had delivered was bought again, and it was not cancelled.
TEST_F(RolloutChains, FollowASecondRolloutBesideALiar) {
  each_ = 2;
  gateway_.script = {{.lie = Lie::kCount}, part_of(3)};
  gateway_.refuses = 1'000;
  Listener stopping;
  stopping.stops_at = 8;
  error_of(stopping);
  gateway_.refuses = 0;
  expect_trained(listener_, {.segments = 4, .audited = 2});
  EXPECT_THAT(listener_.said, ElementsAre("end 8: it does not go on from the state after step 8",
                                          "rollout", "10", "end 10: no room", "rollout", "12"));
  EXPECT_EQ(gateway_.cancelled, 1);
}

TEST_F(RolloutChains, FollowTheOneThatBeginsFromTheirCheckpoint) {
  each_ = 2;
  gateway_.script = {{.lie = Lie::kCount}};
  gateway_.refuses = 1'000;
  Listener stopping;
  stopping.stops_at = 6;
  error_of(stopping);
  gateway_.refuses = 0;
  expect_trained(listener_, {.segments = 4, .audited = 4});
  EXPECT_EQ(gateway_.started, 2);
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: the gateway returned the rollout of the other state, and so did every rerun.
TEST_F(RolloutChains, AskForAnotherStateByAnotherKey) {
  gateway_.script = {lying_part_of(2), {}, part_of(1)};
  gateway_.falls = {{2, {.trusted = 1, .reason = "step 2"}}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_EQ(gateway_.started, 4);
}

// The fault: one refusal, and who had lied went on and was paid.
TEST_F(RolloutChains, CancelAgainWhatWasRefusedAtFirst) {
  gateway_.script = {{.lie = Lie::kLosses}};
  gateway_.refuses = 1;
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_EQ(gateway_.cancelled, 1);
}

TEST_F(RolloutChains, CancelAgainAtTheEnd) {
  gateway_.refuses = 1;
  listener_.stops_at = 4;
  error_of(listener_);
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "4"));
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: nobody knew that it had begun.
TEST_F(RolloutChains, CancelAStartWhoseAnswerIsLost) {
  gateway_.script = {{.is_unanswered = true}};
  listener_.stops_waiting = true;
  EXPECT_EQ(error_of(listener_),
            "stopped before step 1 of 12: no rollout has begun, nothing was made yet");
  EXPECT_THAT(listener_.said, ElementsAre("waits: no answer"));
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: the audit of a segment that was not taken counted for one that was.
TEST_F(RolloutChains, CountNoAuditsOfWhatTheyDidNotTake) {
  gateway_.script = {{.confirmed = 0, .matched = 1, .lie = Lie::kCount, .lies_from = 3}};
  expect_trained(listener_, {.segments = 3, .audited = 1});
  const Act whole{.confirmed = 1, .matched = 2};
  Listener again;
  gateway_.script = {whole};
  training_.write_plan("steps: 8\noptimiser: {kind: momentum, rate: 0.02}\n");
  train::Trainer remote = trainer();
  const auto end = train_with(remote, again);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->audited, 2u);
}

}  // namespace
}  // namespace commensal::training
