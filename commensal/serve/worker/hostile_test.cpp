// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/pack_folder.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <commensal/serve/worker/testing/hostile.hpp>
#include <thread>

// What a worker does that a model has taken over costs the one run, and nobody else anything.

namespace commensal::worker {
namespace {

using core::ErrorCode;
using receipt::Values;
using testing::Deed;

const core::Path kDigits = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";

Values inputs(float first = 0) {
  std::vector<float> pixels(64, 0.25f);
  pixels[0] = first;
  return {tensor::Tensor::of<float>({1, 1, 8, 8}, pixels)};
}

class NoPacks final : public graph::PackFiles {
 public:
  std::optional<File> open(const core::Digest&) override { return std::nullopt; }
  void keep(const core::Digest&, std::span<const core::ByteView>) override {}
};

ProcessOptions hostile_options() {
  ProcessOptions options;
  options.session.memory_bytes_max = 64 << 20;
  options.session.packs = std::make_shared<const graph::PackFolder>(std::make_shared<NoPacks>());
  options.program.word = testing::kHostileWord;
  options.data_bytes_max = 256 << 20;
  options.cpu_ms_max = 2'000;  // to touch all the memory takes some machines 700
  options.still_ms_max = 300;
  return options;
}

class HostileWorker : public ::testing::Test {
 protected:
  core::Result<Values> run(std::uint64_t step, const graph::RunOptions& options = {}) {
    return engine_->run(step, inputs(), std::nullopt, options);
  }
  void expect_honest() {
    const auto made = run(2);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(std::ranges::equal((*made)[0].bytes(), expected_[0].bytes()));
  }

  ProcessEngineFactory factory_{hostile_options()};
  std::unique_ptr<rollout::Engine> engine_ = *factory_.load(kDigits, {});
  Values expected_ =
      *(*rollout::SessionEngineFactory({}).load(kDigits, {}))->run(1, inputs(), std::nullopt);
};

struct Case {
  Deed deed;
  std::string_view name;
  ErrorCode code;
  std::string_view says;
};
constexpr std::string_view kForbidden = "may not have (SIGSYS)";
constexpr Case kCases[] = {
    {Deed::kSegfault, "Segfault", ErrorCode::kInternal, "lost"},
    {Deed::kAbort, "Abort", ErrorCode::kInternal, "lost"},
    {Deed::kEndQuietly, "EndQuietly", ErrorCode::kInternal, "status 0"},
    {Deed::kTakeMemory, "TakeMemory", ErrorCode::kResourceExhausted, "memory"},
    {Deed::kMapMemory, "MapMemory", ErrorCode::kInternal, "lost"},
    {Deed::kShareMemory, "ShareMemory", ErrorCode::kInternal, kForbidden},
    {Deed::kGrowStack, "GrowStack", ErrorCode::kInternal, kForbidden},
    {Deed::kHideMemory, "HideMemory", ErrorCode::kInternal, kForbidden},
    {Deed::kMoveStack, "MoveStack", ErrorCode::kInternal, "SIGABRT"},
    {Deed::kStartThreads, "StartThreads", ErrorCode::kResourceExhausted, "threads"},
    {Deed::kLoop, "Loop", ErrorCode::kDeadlineExceeded, "processor time"},
    {Deed::kSleep, "Sleep", ErrorCode::kDeadlineExceeded, "has done nothing"},
    {Deed::kOpen, "Open", ErrorCode::kInternal, kForbidden},
    {Deed::kSocket, "Socket", ErrorCode::kInternal, kForbidden},
    {Deed::kExecute, "Execute", ErrorCode::kInternal, kForbidden},
    {Deed::kFork, "Fork", ErrorCode::kInternal, kForbidden},
    {Deed::kTrace, "Trace", ErrorCode::kInternal, kForbidden},
    {Deed::kKillParent, "KillParent", ErrorCode::kInternal, kForbidden},
    {Deed::kMakeCode, "MakeCode", ErrorCode::kInternal, kForbidden},
    {Deed::kOutlive, "Outlive", ErrorCode::kInternal, kForbidden},
    {Deed::kRaiseLimit, "RaiseLimit", ErrorCode::kInternal, kForbidden},
    {Deed::kFewOutputs, "FewOutputs", ErrorCode::kInternal, "0 outputs, expected 1"},
    {Deed::kHugeOutputs, "HugeOutputs", ErrorCode::kResourceExhausted, "memory"},
    {Deed::kBreakRing, "BreakRing", ErrorCode::kInternal, "broken the rules"},
    {Deed::kWrongMessage, "WrongMessage", ErrorCode::kInternal, "broken the rules"},
    {Deed::kHugeHead, "HugeHead", ErrorCode::kInternal, "broken the rules"},
    {Deed::kFlood, "Flood", ErrorCode::kDeadlineExceeded, "processor time"},
    {Deed::kAsk, "Ask", ErrorCode::kDeadlineExceeded, "processor time"},
};
static_assert(std::size(kCases) == static_cast<std::size_t>(Deed::kLoopLater) -
                                       static_cast<std::size_t>(Deed::kSegfault));

class HostileWorkerDeeds : public HostileWorker, public ::testing::WithParamInterface<Case> {};

TEST_P(HostileWorkerDeeds, CostTheOneRun) {
  for (int i = 0; i < 2; ++i) {
    const auto made = run(static_cast<std::uint64_t>(GetParam().deed));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, GetParam().code) << made.error().message;
    EXPECT_THAT(made.error().message, ::testing::HasSubstr(std::string(GetParam().says)));
    EXPECT_EQ(made.error().message.find('\n'), std::string::npos);
    expect_honest();
  }
}
INSTANTIATE_TEST_SUITE_P(All, HostileWorkerDeeds, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(HostileWorker, CostsThoseBesideItNothing) {
  std::vector<Values> requests;
  for (const float first : {0.0f, static_cast<float>(Deed::kSegfault), 0.0f}) {
    requests.push_back(inputs(first));
  }
  const auto answers = engine_->run_all(requests, {});
  ASSERT_EQ(answers.size(), 3);
  EXPECT_TRUE(answers[0] && answers[2]);
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kInternal);
  EXPECT_TRUE(std::ranges::equal((*answers[2])[0].bytes(), expected_[0].bytes()));
}

TEST_F(HostileWorker, IsEndedIfItDoesNotStopWhenCancelled) {
  const core::SystemClock clock;
  std::stop_source cancel;
  std::int64_t told_ns = 0;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    told_ns = clock.monotonic_ns();
    cancel.request_stop();
  });
  const auto made = run(static_cast<std::uint64_t>(Deed::kSleep), {.cancel = cancel.get_token()});
  const std::int64_t end_ns = clock.monotonic_ns();
  later.join();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("had not ended it after 100 ms"));
  EXPECT_GE(end_ns - told_ns, 100'000'000);
  EXPECT_LT(end_ns - told_ns, 2'000'000'000);  // a busy machine may be late
  expect_honest();
}

// Where the consumer has left, nothing is tried once more.
TEST_F(HostileWorker, IsCancelledTogether) {
  std::stop_source cancel;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.request_stop();
  });
  const std::vector<Values> requests = {inputs(static_cast<float>(Deed::kSleep)), inputs(0)};
  const auto answers = engine_->run_all(requests, {.cancel = cancel.get_token()});
  later.join();
  ASSERT_EQ(answers.size(), 2);
  for (const auto& answer : answers) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(answer.error().message, "cancelled");  // no second worker was ended for it
  }
}

TEST_F(HostileWorker, HasNoOtherPacer) {
  class Free final : public core::Pacer {
    bool pace(std::int64_t) override { return true; }
  } free;
  const auto made = run(2, {.pacer = &free});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
}

TEST_F(HostileWorker, IsNotTraced) {
  graph::Tracer tracer;
  const auto made = run(2, {.tracer = &tracer});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace commensal::worker
