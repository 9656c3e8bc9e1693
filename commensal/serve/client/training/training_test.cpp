// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/training/testing/remote_trainings.hpp>

namespace commensal::training {
namespace {

using testing::Act;
using ::testing::ElementsAre;
using testing::Lie;
using testing::Listener;
using testing::RemoteTrainings;

TEST_F(RemoteTrainings, AreCancelledAtStopAndGoOnFromTheirCheckpoint) {
  Listener stopping;
  stopping.stops_at = 4;
  EXPECT_EQ(error_of(stopping),
            "stopped after step 4 of 12: the gateway has its state, the same command goes on from "
            "there");
  EXPECT_THAT(stopping.said, ElementsAre("rollout", "4"));
  EXPECT_EQ(gateway_.cancelled, 1);
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "8", "12"));
  EXPECT_EQ(gateway_.started, 1);
}

// The fault: of eight steps it was said that nothing was made yet.
TEST_F(RemoteTrainings, SayWhatThereIsWhereTheyAreStoppedBeforeARollout) {
  Listener stopping;
  stopping.stop.request_stop();
  EXPECT_EQ(error_of(stopping),
            "stopped before step 1 of 12: no rollout has begun, nothing was made yet");
  Listener later;
  later.stops_at = 8;
  error_of(later);
  EXPECT_EQ(error_of(stopping),
            "stopped before step 9 of 12: no rollout has begun, nothing new was made");
}

// The fault: a gateway that did not answer had its model replaced.
TEST_F(RemoteTrainings, PushNothingWhereItIsNotKnownWhatIsThere) {
  gateway_.knows_models = false;
  EXPECT_EQ(error_of(listener_), "not now");
  EXPECT_EQ(gateway_.pushed, 0);
}

// The fault: it was taken for a lie of the other's, and cancelled.
TEST_F(RemoteTrainings, LetRolloutsBeThatBeginFromOtherWeights) {
  const train::testing::SmallTraining other(kPlan);
  auto first = train::testing::trainer_of(other);
  ASSERT_TRUE(first && first->step());
  other.write("model.onnx", *first->exported());
  auto theirs = train::testing::trainer_of(other);
  ASSERT_TRUE(theirs) << theirs.error().message;
  Listener stopping;
  stopping.stops_at = 4;
  gateway_.refuses = 1'000;  // it runs on
  ASSERT_FALSE(train_with(*theirs, stopping));
  gateway_.refuses = 0;
  Listener ours;
  ours.stops_at = 4;
  error_of(ours);
  EXPECT_EQ(gateway_.cancelled, 1);
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: of a rollout that had brought nothing the gateway was said to have a state.
TEST_F(RemoteTrainings, SayThatNothingIsThereWhereTheirRolloutBroughtNothingYet) {
  listener_.stops_at_rollout = true;
  EXPECT_EQ(error_of(listener_),
            "stopped before step 1 of 12: its rollout has brought no segment, nothing was made "
            "yet");
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: what came since the last checkpoint was at the gateway alone.
TEST_F(RemoteTrainings, KeepWhatThereIsWhereTheyAreStopped) {
  each_ = 2;
  Listener stopping;
  stopping.stops_at = 6;
  error_of(stopping);
  EXPECT_EQ(trainer().done(), 6);
  expect_trained(listener_, {.segments = 6, .audited = 6});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "8", "10", "12"));
}

TEST_F(RemoteTrainings, GoBackAfterAProviderThatWasCaught) {
  gateway_.script = {{.trusted = 1, .state = "caught", .reason = "step 2", .lie = Lie::kState}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "4", "8", "12", "back at 4", "end 4: step 2",
                                          "rollout", "8", "12"));
}

// The fault: whoever took --model for the model to be trained replaced what others were served.
TEST_F(RemoteTrainings, ReplaceNoModelThatIsServed) {
  const auto served = core::read_file(training_.file("model.onnx"));
  ASSERT_TRUE(served) << served.error().message;
  client::PushRequest request;
  request.model = "alice/training";
  request.bytes = *served;
  ASSERT_TRUE(gateway_.push(request));
  EXPECT_EQ(error_of(listener_),
            "alice/training is no training but a model that is served: expected --model NAME of "
            "the training's own");
  EXPECT_EQ(gateway_.model("alice/training")->version, 1u);
}

// The fault: its steps were looked at as those of the provider that had refused the first.
TEST_F(RemoteTrainings, StayWithARolloutThatMovesToAnotherProvider) {
  gateway_.script = {{.moves = true}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said, ElementsAre("rollout", "rollout", "4", "8", "12"));
  EXPECT_EQ(gateway_.started, 1);
}

TEST_F(RemoteTrainings, GiveUpAfterThreeRolloutsThatBringNothing) {
  const Act vain{.made = 0, .state = "failed", .reason = "no room"};
  gateway_.script = {vain, vain, vain};
  EXPECT_EQ(error_of(listener_), "step 1 was not made: no room");
  EXPECT_EQ(gateway_.started, 3);
}

TEST_F(RemoteTrainings, MakeHereWhatCannotBeRight) {
  gateway_.script = {{.lie = Lie::kLosses}};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said,
              ElementsAre("rollout", "4", "here 5", "here 6", "here 7", "here 8",
                          "made here 5 to 8: what came is not finite, or counts other steps",
                          "rollout", "12"));
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: it was followed as if its state were this training's, which it is not.
TEST_F(RemoteTrainings, DoNotGoOnFromALieThatIsStillUnderWay) {
  gateway_.script = {{.lie = Lie::kCount}};
  gateway_.refuses = 1'000;
  Listener stopping;
  stopping.stops_at = 8;
  EXPECT_EQ(error_of(stopping),
            fmt::format("stopped after step 8 of 12, which was made here, not at the gateway: {} "
                        "has its state, the same command goes on from there",
                        training_.file("kept").string()));
  EXPECT_THAT(stopping.said,
              ElementsAre("rollout", "4", "here 5", "here 6", "here 7", "here 8",
                          "made here 5 to 8: what came is not finite, or counts other steps",
                          "goes on: not now"));
  gateway_.refuses = 0;
  expect_trained(listener_, {.segments = 1, .audited = 1});
  EXPECT_THAT(listener_.said,
              ElementsAre("end 8: it does not go on from the state after step 8", "rollout", "12"));
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: whatever else ended the training, its rollout went on, and cost.
TEST_F(RemoteTrainings, AreCancelledWhateverEndsThem) {
  listener_.fails_at = 4;
  EXPECT_EQ(error_of(listener_), "no room for events");
  EXPECT_EQ(gateway_.cancelled, 1);
}

// The fault: the end of an English sentence decided it.
TEST_F(RemoteTrainings, MakeHereWhatNobodyCouldMakeHoweverThatIsSaid) {
  const Act refused{
      .made = 0, .state = "failed", .reason = "in other words", .reason_code = client::kNotFinite};
  gateway_.script = {refused};
  expect_trained(listener_, {.segments = 3, .audited = 3});
  EXPECT_THAT(listener_.said,
              ElementsAre("rollout", "end 0: in other words", "here 1", "here 2", "here 3",
                          "here 4", "made here 1 to 4: in other words", "rollout", "8", "12"));
}

/// Says after so many segments that the next one would not be finite.
Act claims_after(std::uint64_t made) {
  return {.made = made, .state = "failed", .reason = "a claim", .reason_code = client::kNotFinite};
}

// The fault: who claimed it each time had the whole training made here, without an end.
TEST_F(RemoteTrainings, GiveUpAfterThreeClaimsThoughTheyAreMadeHere) {
  each_ = 2;
  gateway_.script = {claims_after(0), claims_after(0), claims_after(0)};
  EXPECT_EQ(error_of(listener_), "step 5 was not made: a claim");
  EXPECT_EQ(gateway_.started, 3);
}

TEST_F(RemoteTrainings, CountAClaimAsNothingBetweenRolloutsThatBringNothing) {
  each_ = 2;
  const Act vain{.made = 0, .state = "failed", .reason = "no room"};
  gateway_.script = {vain, claims_after(0), vain};
  EXPECT_EQ(error_of(listener_), "step 3 was not made: no room");
  EXPECT_EQ(gateway_.started, 3);
}

// Each rollout brings one, so nobody holds the training up.
TEST_F(RemoteTrainings, GoOnWhereItIsClaimedOfEverySecondSegment) {
  each_ = 2;
  gateway_.script = {claims_after(0), claims_after(1), claims_after(0), claims_after(1)};
  expect_trained(listener_, {.segments = 6, .audited = 6});
  EXPECT_EQ(gateway_.started, 4);
}

TEST_F(RemoteTrainings, MakeNothingHereForAReasonThatIsUnknown) {
  const Act refused{.made = 0,
                    .state = "failed",
                    .reason = "a state is not finite",
                    .reason_code = "invalid-argument"};
  gateway_.script = {refused, refused, refused};
  EXPECT_EQ(error_of(listener_), "step 1 was not made: a state is not finite");
  EXPECT_EQ(listener_.said.back(), "end 0: a state is not finite");
}

TEST_F(RemoteTrainings, GiveUpAGatewayThatStaysAway) {
  gateway_.is_away = true;
  EXPECT_EQ(error_of(listener_), "nobody is there");
  EXPECT_THAT(listener_.said, ElementsAre("waits: nobody is there"));
  EXPECT_EQ(clock_.wall_ms(), 180'000);
}

}  // namespace
}  // namespace commensal::training
