// SPDX-License-Identifier: Apache-2.0
// Disputes as daemons play them: by argue() of engines, which have no key.
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/rollout/loaded.hpp>
#include <commensal/verify/rollout/testing/contest.hpp>
#include <cstdlib>

namespace commensal::rollout {
namespace {

using arbiter::Ending;
using arbiter::Side;
using core::ErrorCode;
using testing::Contest;
using testing::LyingEngine;

const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";
constexpr dispute::Lie kLie{.node = 0, .element = 10, .mask = 0x40, .byte = 3};

class CountingPacer final : public core::Pacer {
 public:
  bool pace(std::int64_t work_ops) override {
    ops += work_ops;
    return ++asked < stop_at;
  }
  int asked = 0;
  std::int64_t ops = 0;
  int stop_at = INT32_MAX;
};

std::unique_ptr<SessionEngine> honest(const core::Path& file, core::Pacer* pacer = nullptr) {
  auto made = load(file, {.pacer = pacer}, {});
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return std::make_unique<SessionEngine>(std::move(made->session), made->leaves);
}

dispute::Case case_of(const core::Path& file) {
  const auto graph = *graph::onnx::import_file(file);
  return {graph, testing::drawn_inputs(*graph)};
}

void expect_right_verdicts(const core::Path& file) {
  const dispute::Case one = case_of(file);
  for (const Side liar : {Side::kProvider, Side::kChallenger}) {
    LyingEngine lies(one, kLie);
    const auto tells = honest(file);
    Engine& provider = liar == Side::kProvider ? static_cast<Engine&>(lies) : *tells;
    Engine& challenger = liar == Side::kProvider ? *tells : static_cast<Engine&>(lies);
    Contest contest{one, provider, challenger};
    const auto outcome = contest.play();
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_EQ(outcome->ending, Ending::kProved) << outcome->reason;
    EXPECT_TRUE(outcome->wrong[at(liar)]);
    EXPECT_FALSE(outcome->wrong[at(arbiter::other(liar))]);
    EXPECT_EQ(outcome->finding->node, kLie.node);
  }
}

TEST(Argue, EndsInTheRightVerdict) { expect_right_verdicts(kDigits); }

TEST(Argue, EndsInTheRightVerdictAboutALargeModel) {
  const char* const folder = std::getenv("COMMENSAL_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS is not set";
  const core::Path file = core::Path(folder) / "resnet18.onnx";
  if (!core::read_file(file, limits::kModelBytesMax)) GTEST_SKIP() << "there is no resnet18.onnx";
  expect_right_verdicts(file);
}

TEST(Argue, GoesOnWhereAnotherEngineBegan) {
  const dispute::Case one = case_of(kDigits);
  LyingEngine lies(one, kLie);
  const auto kept = honest(kDigits);
  Contest whole{one, lies, *kept};
  ASSERT_TRUE(whole.play());
  std::vector<Said> moves;
  const auto setup = *whole.setup();
  for (const Said& said : whole.moves) {
    if (said.side == Side::kChallenger) {
      const auto fresh = honest(kDigits)->argue({setup, said.side, one.inputs, moves});
      ASSERT_TRUE(fresh) << fresh.error().message;
      EXPECT_EQ(*arbiter::sign_move(one.challenger, *fresh->move), said.move);
    }
    moves.push_back(said);
  }
  const auto over = honest(kDigits)->argue({setup, Side::kChallenger, one.inputs, moves});
  ASSERT_TRUE(over);
  EXPECT_FALSE(over->move);
}

TEST(Argue, AWholeDisputeCostsOneRunAndASegmentWhichTheHostsPacerHolds) {
  const dispute::Case one = case_of(kDigits);
  LyingEngine lies(one, {.node = one.graph->nodes.size() - 1, .mask = 0x40, .byte = 3});
  CountingPacer pacer;
  const auto tells = honest(kDigits, &pacer);
  ASSERT_TRUE(tells->run(1, one.inputs, std::nullopt));
  const std::int64_t of_one_run = std::exchange(pacer.ops, 0);
  pacer.asked = 0;
  Contest contest{one, lies, *tells};
  ASSERT_TRUE(contest.play());
  EXPECT_GE(pacer.ops, of_one_run);
  EXPECT_LT(pacer.ops, of_one_run * 5 / 4);       // the last segment is a small one
  pacer.stop_at = std::exchange(pacer.asked, 0);  // the host wants all
  const auto fresh = honest(kDigits, &pacer);
  Contest again{one, lies, *fresh};
  const auto stopped = again.play();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kUnavailable) << stopped.error().message;
}

class Refusals : public ::testing::Test {
 protected:
  void expect(ErrorCode code, const Argument& argument, const graph::RunOptions& options = {}) {
    const auto made = engine_->argue(argument, options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, code) << made.error().message;
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
  }
  const dispute::Case one_ = case_of(kDigits);
  LyingEngine lies_{one_, kLie};
  std::unique_ptr<SessionEngine> engine_ = honest(kDigits);
  Contest contest_{one_, lies_, *engine_};
  const Argument right_ = contest_.argument(*contest_.setup(), Side::kChallenger);
};

TEST_F(Refusals, OfSetupsInputsAndMovesThatDoNotFit) {
  ASSERT_TRUE(engine_->argue(right_));
  Argument other = right_;
  other.setup.receipt.job.graph_root[0] ^= 1;
  expect(ErrorCode::kFailedPrecondition, other);
  other = right_;
  other.setup.receipt.commitment[0] ^= 1;
  expect(ErrorCode::kUnauthenticated, other);
  other = right_;
  other.setup.input_salt[0] ^= 1;
  expect(ErrorCode::kDataLoss, other);
  other = right_;
  other.inputs.clear();
  expect(ErrorCode::kInvalidArgument, other);
  other = right_;
  other.inputs[0] = tensor::Tensor::of<float>({1}, std::vector<float>{1});
  expect(ErrorCode::kInvalidArgument, other);
  other = right_;
  other.moves = {{Side::kProvider, {1, 2, 3}}};
  expect(ErrorCode::kFailedPrecondition, other);
  other.moves = {{Side::kProvider, core::Bytes(limits::kDisputeMoveBytesMax + 1)}};
  expect(ErrorCode::kResourceExhausted, other);
  other.moves.assign(1 + limits::kDisputeBytesMax / limits::kDisputeMoveBytesMax,
                     {Side::kProvider, core::Bytes(limits::kDisputeMoveBytesMax)});
  expect(ErrorCode::kResourceExhausted, other);
}

TEST_F(Refusals, OfRunsThatMayNotBe) {
  std::stop_source cancel;
  cancel.request_stop();
  expect(ErrorCode::kCancelled, right_, {.cancel = cancel.get_token()});
  expect(ErrorCode::kOverBudget, right_, {.ops_max = 10});
  graph::Tracer tracer;
  expect(ErrorCode::kUnsupported, right_, {.tracer = &tracer});
  EXPECT_TRUE(engine_->argue(right_));
}

TEST_F(Refusals, OfCounselsThatSpeakOfSomethingElse) {
  const Counsel counsel = *engine_->argue(right_);
  EXPECT_TRUE(check_counsel(right_, counsel));
  EXPECT_TRUE(check_counsel(right_, {}));
  Argument other = right_;
  other.side = Side::kProvider;
  EXPECT_FALSE(check_counsel(other, counsel));
  other = right_;
  other.setup.challenger = one_.client.address();
  EXPECT_FALSE(check_counsel(other, counsel));
  EXPECT_FALSE(check_counsel(right_, {{}, core::Bytes{1, 2}}));
  EXPECT_FALSE(check_counsel(right_, {{}, core::Bytes(limits::kDisputeMoveBytesMax + 1)}));
  arbiter::Move claim = *protocol::decode<arbiter::Move>(*counsel.move);
  claim.kind = arbiter::MoveKind::kSegmentClaim;
  claim.body = arbiter::encode_body(arbiter::SegmentClaim());
  EXPECT_FALSE(check_counsel(right_, {{}, protocol::encode(claim)}));
}

}  // namespace
}  // namespace commensal::rollout
