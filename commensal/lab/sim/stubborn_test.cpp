// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/verify/rollout/testing/contest.hpp>

namespace commensal::sim {
namespace {

using arbiter::Side;

const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";

void expect_proved_wrong(rollout::EngineFactory& cheats, bool is_lazy) {
  const auto graph = *graph::onnx::import_file(kDigits);
  const dispute::Case one(graph, rollout::testing::drawn_inputs(*graph));
  const auto cheat = *cheats.load(kDigits, {});
  const auto honest = *rollout::SessionEngineFactory({}).load(kDigits, {});
  // The first answer of the lazy one is right.
  ASSERT_TRUE(!is_lazy || cheat->run(1, one.inputs, std::nullopt));
  rollout::testing::Contest contest{one, *cheat, *honest};
  const auto setup = *contest.setup();
  const auto stands = cheat->argue(contest.argument(setup, Side::kProvider));
  ASSERT_TRUE(stands) << stands.error().message;
  EXPECT_EQ(stands->output_root,
            receipt::outputs_root(*graph, *cheat->run(1, one.inputs, std::nullopt)));
  EXPECT_NE(stands->output_root,
            receipt::outputs_root(*graph, *honest->run(1, one.inputs, std::nullopt)));
  const auto outcome = contest.play();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->ending, arbiter::Ending::kProved) << outcome->reason;
  EXPECT_TRUE(outcome->wrong[at(Side::kProvider)]) << outcome->reason;
  EXPECT_FALSE(outcome->wrong[at(Side::kChallenger)]) << outcome->reason;
}

TEST(Stubborn, LosesByProofForACheaperNumberFormat) {
  expect_proved_wrong(*make_bf16_cheat(), false);
}
TEST(Stubborn, LosesByProofForNothingComputed) {
  expect_proved_wrong(*testing::make_lazy_cheat(), true);
}

}  // namespace
}  // namespace commensal::sim
