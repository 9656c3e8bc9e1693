// SPDX-License-Identifier: Apache-2.0
// Long rollouts of the letter network (models/letters), with cheats in them.
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/serial/cheat.hpp>
#include <commensal/lab/serial/local_rollout.hpp>

namespace commensal::serial {
namespace {

using store::testing::Fault;
using tensor::DType;
using tensor::Tensor;

std::shared_ptr<const graph::Graph> letters() {
  const auto imported =
      graph::onnx::import_file(COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx");
  core::check(imported.has_value(), "the model is there");
  return *imported;
}

const std::vector<protocol::Feed> kFeeds = {{0, 0}, {1, 1}};  // next -> letter, state_out -> state

RolloutOptions letters_rollout(std::uint64_t steps, std::uint8_t seed) {
  RolloutOptions options;
  options.graph = letters();
  options.feeds = kFeeds;
  const std::vector<std::int64_t> letter = {20};
  const std::vector<float> state(160, 0);
  options.inputs = {{"letter", Tensor::of<std::int64_t>({1}, letter)},
                    {"state", Tensor::of<float>({1, 160}, state)}};
  options.steps = steps;
  options.noise_exponent = 16;
  options.states = protocol::StateRule::kMovable;
  options.secret = core::Digest{seed};
  return options;
}

std::unique_ptr<CheatEngine> cheat_on(const RolloutOptions& options, const Lies& lies) {
  auto made = CheatEngine::create(options.graph, {}, kFeeds, lies);
  core::check(made.has_value(), "the model has these weights");
  return *std::move(made);
}

struct Stores {
  store::MemoryStore client, provider;
  core::ManualClock clock;
  core::CounterRng rng{3};
  LocalRollout::Outside outside() { return {client, provider, clock, rng}; }
};

core::Result<RolloutReport> run(const LocalRollout::Outside& outside,
                                const RolloutOptions& options) {
  COMMENSAL_ASSIGN(const auto local, LocalRollout::open(outside, options));
  return local->run([](const RolloutReport&) {});
}

RolloutReport run(const RolloutOptions& options) {
  Stores stores;
  auto report = run(stores.outside(), options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : RolloutReport();
}

TEST(SimRollout, AnHonestOneOfManyStepsIsNeverAccused) {
  RolloutOptions options = letters_rollout(2000, 1);
  options.audit_probability = 0.05;
  const RolloutReport report = run(options);
  EXPECT_EQ(report.steps, 2000u);
  EXPECT_TRUE(report.caught.empty());
  EXPECT_GT(report.audits, 50u);
  EXPECT_EQ(report.tickets.issued, 2000u);
  EXPECT_EQ(report.tickets.won, report.tickets.paid);
  EXPECT_GT(report.tickets.won, 0u);
  EXPECT_EQ(report.tickets.lost + report.tickets.won, 2000u);
}

// A cheat on 300 steps at an audit probability of 1 % escapes with probability 0.99^300 < 5 %.
// Seed 2; no ticket wins, so that no audit but the drawn ones helps.
TEST(SimRollout, ThreeHundredCheatsInTenThousandStepsAreCaught) {
  RolloutOptions options = letters_rollout(10'000, 2);
  options.audit_probability = 0.01;
  options.win_probability = 0;
  options.stops_at_mismatch = false;
  Lies lies;
  for (const std::uint64_t step : drawn_steps(10'000, 300, 2)) lies[step] = "head.bias";
  const auto cheat = cheat_on(options, lies);
  options.engine = cheat.get();
  const RolloutReport report = run(options);
  EXPECT_EQ(report.steps, 10'000u);
  EXPECT_GT(report.caught.size(), 0u);
  for (const CaughtStep& wrong : report.caught) {
    EXPECT_TRUE(lies.contains(wrong.step)) << wrong.step;
    EXPECT_EQ(wrong.node, "/head/Gemm");
  }
}

/// What an arbiter finds in the file, which is bound to the step: node's operator and who is wrong.
std::string ruling_of(const CaughtStep& wrong) {
  const auto file = protocol::decode<arbiter::VerdictFile>(wrong.ruling.file);
  if (!file) return wrong.ruling.outcome.reason + file.error().message;
  const auto found = arbiter::judge(*file);
  if (!found) return found.error().message;
  const auto task = protocol::decode<receipt::Opening>(wrong.opening);
  if (!task) return task.error().message;
  const auto input_root = receipt::input_root_of(task->task);
  if (!input_root) return input_root.error().message;
  EXPECT_EQ(file->receipt.step, wrong.step);
  EXPECT_EQ(file->words[0].claim.input_root, *input_root);
  return fmt::format("{} {}{}", found->op, found->wrong[0] ? "provider" : "",
                     found->wrong[1] ? "challenger" : "");
}

TEST(SimRollout, WithEveryStepAuditedThreeSingleCheatsAreLocatedAndAdjudicated) {
  RolloutOptions options = letters_rollout(2500, 4);
  options.audit_probability = 1;
  options.stops_at_mismatch = false;
  const Lies lies = {{17, "gates"}, {999, "table"}, {2500, "head.weight"}};
  const auto cheat = cheat_on(options, lies);
  options.engine = cheat.get();
  const RolloutReport report = run(options);
  std::map<std::uint64_t, std::string> found, ruled;
  for (const CaughtStep& wrong : report.caught) {
    found[wrong.step] = wrong.node;
    ruled[wrong.step] = ruling_of(wrong);
    EXPECT_LE(wrong.ruling.file.size(), 16u << 10) << wrong.step;
  }
  EXPECT_EQ(found, (std::map<std::uint64_t, std::string>{
                       {17, "/MatMul"}, {999, "/Gather"}, {2500, "/head/Gemm"}}));
  EXPECT_EQ(ruled,
            (std::map<std::uint64_t, std::string>{
                {17, "MatMul provider"}, {999, "Gather provider"}, {2500, "Gemm provider"}}));
}

TEST(SimRollout, StopsAtTheFirstMismatch) {
  RolloutOptions options = letters_rollout(50, 5);
  options.audit_probability = 1;
  const auto cheat = cheat_on(options, {{7, "gates"}, {9, "gates"}});
  options.engine = cheat.get();
  const RolloutReport report = run(options);
  EXPECT_EQ(report.steps, 7u);
  EXPECT_EQ(report.caught.size(), 1u);
}

TEST(SimRollout, TheFirstStepOfALongOneIsAlwaysAudited) {
  RolloutOptions options = letters_rollout(10, 6);
  options.audit_probability = 0;
  options.win_probability = 0;
  EXPECT_EQ(run(options).audits, 1u);
  options.steps = 9;
  EXPECT_EQ(run(options).audits, 0u);
}

TEST(SimRollout, NoiseChangesTheStatesAndIsRepeatable) {
  RolloutOptions options = letters_rollout(20, 7);
  const core::Digest noisy = run(options).final_root;
  EXPECT_EQ(run(options).final_root, noisy);
  options.secret[0] = 8;
  EXPECT_NE(run(options).final_root, noisy);
  options.noise_exponent.reset();
  options.states = protocol::StateRule::kFinite;
  const core::Digest plain = run(options).final_root;
  EXPECT_NE(plain, noisy);
  options.secret[0] = 7;
  EXPECT_EQ(run(options).final_root, plain);
}

TEST(SimRollout, GoesOnAfterACrashAtEveryWrite) {
  RolloutOptions options = letters_rollout(8, 9);
  options.steps_per_round = 3;
  options.win_probability = 0.5;
  options.audit_probability = 0;
  const RolloutReport whole = run(options);
  EXPECT_EQ(whole.tickets.won + whole.tickets.lost, 8u);
  for (const bool of_client : {true, false}) {
    bool is_over = false;
    for (std::uint64_t at = 0; !is_over; ++at) {
      for (const auto fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
        Stores stores;
        auto& below = of_client ? stores.client : stores.provider;
        store::testing::FaultStore faulty(below, at, fault);
        LocalRollout::Outside outside{
            of_client ? static_cast<core::Store&>(faulty) : stores.client,
            of_client ? static_cast<core::Store&>(stores.provider) : faulty, stores.clock,
            stores.rng};
        auto report = run(outside, options);
        is_over = report.has_value();
        if (!report) report = run(stores.outside(), options);
        ASSERT_TRUE(report) << at << ": " << report.error().message;
        EXPECT_EQ(report->final_root, whole.final_root) << at;
        // A step that is committed to anew has another salt, so another draw.
        EXPECT_EQ(report->tickets.won + report->tickets.lost, 8u) << at;
        EXPECT_EQ(report->tickets.paid, report->tickets.won) << at;
      }
    }
  }
}

}  // namespace
}  // namespace commensal::serial
