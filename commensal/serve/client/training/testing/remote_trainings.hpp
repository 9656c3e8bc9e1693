// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <commensal/compute/train/testing/small_training.hpp>
#include <commensal/serve/client/training/testing/scripted_gateway.hpp>
#include <commensal/serve/client/training/training.hpp>
#include <string>
#include <vector>

/// A training at a gateway, against one that does as it is told: without HTTP, terminal and time.
namespace commensal::training::testing {

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
    if (stops_at_rollout) stop.request_stop();
  }
  void told_end(std::int64_t done, const crypto::Address&, const std::string& why) override {
    said.push_back(fmt::format("end {}: {}", done, why));
  }
  void told_made_here(std::int64_t first, std::int64_t last, const crypto::Address&,
                      const std::string& why) override {
    said.push_back(fmt::format("made here {} to {}: {}", first, last, why));
  }
  void told_waiting(const std::string& why) override {
    said.push_back("waits: " + why);
    if (stops_waiting) stop.request_stop();
  }
  void told_goes_on(const core::Digest&, const std::string& why) override {
    said.push_back("goes on: " + why);
  }

  std::vector<std::string> said;
  std::stop_source stop;
  std::int64_t stops_at = -1, fails_at = -1;
  bool stops_waiting = false, stops_at_rollout = false;
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
    const train::testing::SmallTraining local(kPlan);
    EXPECT_EQ(core::to_hex(remote.weights_digest()), train::testing::digest_after(local, 12));
  }
  std::string error_of(Listener& listener) {
    train::Trainer remote = trainer();
    const auto end = train_with(remote, listener);
    return end ? "" : end.error().message;
  }

  static constexpr const char* kPlan =
      "steps: 12\noptimiser: {kind: momentum, rate: 0.02, momentum: 0.9}\n";
  const train::testing::SmallTraining training_{std::string(kPlan) +
                                                "checkpoint: {file: kept, every: 4}\n"};
  core::ManualClock clock_;
  ScriptedGateway gateway_{clock_};
  std::int64_t each_ = 4;
  Listener listener_;
};

}  // namespace commensal::training::testing
