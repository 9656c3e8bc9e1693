// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/worker/testing/hostile.hpp>
#include <commensal/serve/worker/testing/twins.hpp>
#include <commensal/verify/rollout/testing/contest.hpp>
#include <cstdlib>

// Disputes whose sides are argued by both twins of the engines; and by workers that lie and die.

namespace commensal::worker {
namespace {

using arbiter::Side;
using core::ErrorCode;
using rollout::Argument;
using rollout::Said;
using rollout::testing::Contest;
using rollout::testing::LyingEngine;
using testing::Deed;

const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";
constexpr dispute::Lie kLie{.node = 0, .element = 10, .mask = 0x40, .byte = 3};

dispute::Case case_of(const core::Path& file) {
  const auto graph = *graph::onnx::import_file(file);
  return {graph, rollout::testing::drawn_inputs(*graph)};
}

template <class Twin>
class ArguingEngine : public ::testing::Test {
 protected:
  void expect_right_verdicts(const core::Path& file) {
    const dispute::Case one = case_of(file);
    for (const Side liar : {Side::kProvider, Side::kChallenger}) {
      LyingEngine lies(one, kLie);
      const auto tells = *factory_->load(file, {});
      rollout::Engine& bent = lies;
      Contest contest{one, liar == Side::kProvider ? bent : *tells,
                      liar == Side::kProvider ? *tells : bent};
      const auto outcome = contest.play();
      ASSERT_TRUE(outcome) << outcome.error().message;
      ASSERT_EQ(outcome->ending, arbiter::Ending::kProved) << outcome->reason;
      EXPECT_TRUE(outcome->wrong[at(liar)]);
      EXPECT_FALSE(outcome->wrong[at(arbiter::other(liar))]);
    }
  }
  std::unique_ptr<rollout::EngineFactory> factory_ = Twin::make({});
};
using Twins = ::testing::Types<testing::InThread, testing::InProcess>;
TYPED_TEST_SUITE(ArguingEngine, Twins);

TYPED_TEST(ArguingEngine, WinsWhereItIsRight) { this->expect_right_verdicts(kDigits); }

TYPED_TEST(ArguingEngine, WinsAboutALargeModel) {
  const char* const folder = std::getenv("COMMENSAL_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS is not set";
  const core::Path file = core::Path(folder) / "resnet18.onnx";
  if (!core::MappedFile::open(file, limits::kModelBytesMax)) GTEST_SKIP() << "no resnet18.onnx";
  this->expect_right_verdicts(file);
}

TYPED_TEST(ArguingEngine, RefusesAsItsTwin) {
  const dispute::Case one = case_of(kDigits);
  LyingEngine lies(one, kLie);
  const auto engine = *this->factory_->load(kDigits, {});
  const auto twin = *testing::InThread::make({})->load(kDigits, {});
  Contest contest{one, lies, *engine};
  const Argument right = contest.argument(*contest.setup(), Side::kChallenger);
  std::vector<Argument> wrong(6, right);
  wrong[0].setup.receipt.job.graph_root[0] ^= 1;
  wrong[1].setup.receipt.commitment[0] ^= 1;
  wrong[2].setup.receipt.job.steps = 2;
  wrong[3].inputs.clear();
  wrong[4].moves = {{Side::kProvider, {1, 2, 3}}};
  wrong[5].moves = {{Side::kProvider, core::Bytes(limits::kDisputeMoveBytesMax + 1)}};
  for (const Argument& argument : wrong) {
    const auto made = engine->argue(argument), expected = twin->argue(argument);
    ASSERT_FALSE(made || expected);
    EXPECT_EQ(made.error().code, expected.error().code);
    EXPECT_EQ(made.error().message, expected.error().message);
  }
  std::stop_source cancel;
  cancel.request_stop();
  const auto cancelled = engine->argue(right, {.cancel = cancel.get_token()});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled) << cancelled.error().message;
  const auto poor = engine->argue(right, {.ops_max = 10});
  ASSERT_FALSE(poor);
  EXPECT_EQ(poor.error().code, ErrorCode::kOverBudget) << poor.error().message;
  const auto made = engine->argue(right), expected = twin->argue(right);
  ASSERT_TRUE(made && expected) << made.error().message;
  EXPECT_EQ(made->output_root, expected->output_root);
  EXPECT_EQ(made->move, expected->move);
}

class ArguingWorker : public ::testing::Test {
 protected:
  static ProcessOptions options() {
    ProcessOptions options;
    options.program.word = testing::kHostileWord;
    options.cpu_ms_max = 2000;
    options.still_ms_max = 1000;
    return options;
  }
  const dispute::Case one_ = case_of(kDigits);
  LyingEngine lies_{one_, kLie};
  ProcessEngineFactory factory_{options()};
  std::unique_ptr<rollout::Engine> engine_ = *factory_.load(kDigits, {});
};

TEST_F(ArguingWorker, SaysTheSameWhereItWasKilledBeforeEachMove) {
  Contest whole{one_, lies_, *engine_};
  ASSERT_TRUE(whole.play());
  Contest broken{one_, lies_, *engine_};
  broken.before_move = [&](Side) {
    const auto deed = static_cast<std::uint64_t>(Deed::kAbort);
    EXPECT_FALSE(engine_->run(deed, one_.inputs, std::nullopt));
  };
  const auto outcome = broken.play();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->wrong[at(Side::kProvider)]);
  ASSERT_EQ(broken.moves.size(), whole.moves.size());
  for (std::size_t i = 0; i < whole.moves.size(); ++i) {
    EXPECT_EQ(broken.moves[i].move, whole.moves[i].move) << i;
  }
}

TEST_F(ArguingWorker, IsBelievedNothing) {
  struct Row {
    Deed deed;
    ErrorCode code;
    std::string_view says;
  };
  constexpr Row kRows[] = {
      {Deed::kSegfault, ErrorCode::kInternal, "lost"},
      {Deed::kLoop, ErrorCode::kDeadlineExceeded, "processor time"},
      {Deed::kSleep, ErrorCode::kDeadlineExceeded, "has done nothing"},
      {Deed::kWrongMessage, ErrorCode::kInternal, "broken the rules"},
      {Deed::kBreakRing, ErrorCode::kInternal, "broken the rules"},
      {Deed::kArgueNoise, ErrorCode::kInternal, "broken the rules"},
      {Deed::kArgueLong, ErrorCode::kInternal, "broken the rules"},
      {Deed::kArgueHuge, ErrorCode::kInternal, "broken the rules"},
      {Deed::kArgueOther, ErrorCode::kInternal, "a claim of another dispute or side"},
      {Deed::kArgueRun, ErrorCode::kInternal, "broken the rules"},
  };
  Contest contest{one_, lies_, *engine_};
  const Argument right = contest.argument(*contest.setup(), Side::kChallenger);
  for (const Row& row : kRows) {
    Argument argument = right;
    argument.setup.move_ms_max = static_cast<std::int64_t>(row.deed);
    const auto made = engine_->argue(argument);
    ASSERT_FALSE(made) << row.says;
    EXPECT_EQ(made.error().code, row.code) << made.error().message;
    EXPECT_THAT(made.error().message, ::testing::HasSubstr(std::string(row.says)));
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
    const auto honest = engine_->argue(right);
    ASSERT_TRUE(honest) << honest.error().message;
    EXPECT_TRUE(honest->move);
  }
}

}  // namespace
}  // namespace commensal::worker
