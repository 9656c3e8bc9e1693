// SPDX-License-Identifier: Apache-2.0
// A training at a gateway, against one that does as it is told: without HTTP, terminal and time.
#include <gmock/gmock.h>

#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/serve/client/training/testing/scripted_gateway.hpp>
#include <commensal/serve/client/training/training.hpp>

namespace commensal::training {
namespace {

using testing::Act;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lie;
using testing::ScriptedGateway;
using train::testing::SmallTraining;

/// What it is told, in words; asks for the end at a step, if that is wanted.
class Listener final : public Observer {
 public:
  core::Result<void> shown(const train::Trainer&) override { return {}; }
  core::Result<void> shown(const train::Trainer& trainer, const Made& made) override {
    said.push_back(fmt::format("{}{}", made.is_here ? "here " : "", trainer.done()));
    if (trainer.done() == stops_at) stop.request_stop();
    if (trainer.done() == fails_at)
      return core::fail(core::ErrorCode::kDataLoss, "no room for events");
    return {};
  }
  void went_back(const train::Trainer& trainer) override {
    said.push_back(fmt::format("back at {}", trainer.done()));
  }
  void told_rollout(const core::Digest&, const crypto::Address&) override {
    said.emplace_back("rollout");
  }
  void told_end(std::int64_t done, const crypto::Address&, const std::string& why) override {
    said.push_back(fmt::format("end {}: {}", done, why));
  }
  void told_made_here(std::int64_t first, std::int64_t last, const crypto::Address&,
                      const std::string& why) override {
    said.push_back(fmt::format("made here {} to {}: {}", first, last, why));
  }
  void told_waiting(const std::string& why) override { said.push_back("waits: " + why); }
  void told_goes_on(const core::Digest&, const std::string& why) override {
    said.push_back("goes on: " + why);
  }

  std::vector<std::string> said;
  std::stop_source stop;
  std::int64_t stops_at = -1, fails_at = -1;
};

/// Twelve steps, in segments of four where nothing else is said.
class RemoteTrainings : public ::testing::Test {
 protected:
  train::Trainer trainer() const {
    auto made = train::testing::trainer_of(training_);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(made).value();
  }
  core::Result<End> train_with(train::Trainer& trainer, Listener& listener) {
    const Terms terms{.model = "alice/training",
                      .each = each_,
                      .audit_probability = 0.5,
                      .allowed = {},
                      .is_public = true};
    COMMENSAL_ASSIGN(SegmentModel first, SegmentModel::push(trainer, gateway_, terms));
    return run({trainer, gateway_, clock_, listener}, terms, std::move(first),
               listener.stop.get_token());
  }
  /// The same, from what there is; it ends in the bits of the local one.
  void expect_trained(Listener& listener, const End& expected) {
    train::Trainer remote = trainer();
    const auto end = train_with(remote, listener);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->segments, expected.segments);
    EXPECT_EQ(end->audited, expected.audited);
    const SmallTraining local(kPlan);
    EXPECT_EQ(core::to_hex(remote.weights_digest()), train::testing::digest_after(local, 12));
  }
  std::string error_of(Listener& listener) {
    train::Trainer remote = trainer();
    const auto end = train_with(remote, listener);
    return end ? "" : end.error().message;
  }

  static constexpr const char* kPlan =
      "steps: 12\noptimiser: {kind: momentum, rate: 0.02, momentum: 0.9}\n";
  const SmallTraining training_{std::string(kPlan) + "checkpoint: {file: kept, every: 4}\n"};
  core::ManualClock clock_;
  ScriptedGateway gateway_{clock_};
  std::int64_t each_ = 4;
  Listener listener_;
};

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
  gateway_.cancels = false;
  Listener stopping;
  stopping.stops_at = 8;
  EXPECT_EQ(error_of(stopping),
            fmt::format("stopped after step 8 of 12, which was made here, not at the gateway: {} "
                        "has its state, the same command goes on from there",
                        training_.file("kept").string()));
  EXPECT_THAT(
      stopping.said,
      ElementsAre("rollout", "4", "goes on: not now", "here 5", "here 6", "here 7", "here 8",
                  "made here 5 to 8: what came is not finite, or counts other steps"));
  gateway_.cancels = true;
  expect_trained(listener_, {.segments = 1, .audited = 1});
  EXPECT_THAT(
      listener_.said,
      ElementsAre("rollout", "end 8: what it made of step 8 is another state", "rollout", "12"));
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
