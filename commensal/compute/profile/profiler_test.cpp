// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/profile/profiler.hpp>
#include <nlohmann/json.hpp>

namespace commensal::profile {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A millisecond passes with every look.
class TickingClock final : public core::Clock {
 public:
  std::int64_t monotonic_ns() const override { return 1'000'000 * ++looks_; }
  std::int64_t wall_ms() const override { return 0; }

 private:
  mutable std::int64_t looks_ = 0;
};

class ProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override { run(graph::Backend::kCpu, profiler_); }
  static void run(graph::Backend backend, Profiler& profiler) {
    const auto graph =
        graph::onnx::import_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
    ASSERT_TRUE(graph);
    auto session = graph::Session::create(*graph, {.backend = backend});
    ASSERT_TRUE(session);
    const std::vector<float> pixels(64, 0.5f);
    const std::vector inputs = {
        tensor::Tensor::of<float>(*tensor::Shape::of({{1, 1, 8, 8}}), pixels)};
    for (int run = 0; run < 3; ++run) {
      profiler.begin_run();
      ASSERT_TRUE(session->run(inputs, {.tracer = &profiler}));
      profiler.end_run();
    }
  }

  TickingClock clock_;
  Profiler profiler_{clock_};
};

TEST_F(ProfilerTest, EveryNodeHasItsTimeAndWork) {
  const Profile profile = profile_of(profiler_, {1e12, 1e11});
  EXPECT_EQ(profile.runs, 2u);
  ASSERT_FALSE(profile.by_node.empty());
  double sum = 0;
  for (const Row& row : profile.by_node) {
    EXPECT_DOUBLE_EQ(row.seconds, 1e-3) << row.name;
    EXPECT_GT(row.work.bytes, 0) << row.name;
    sum += row.seconds;
  }
  EXPECT_GT(profile.run_seconds, sum);
}

TEST_F(ProfilerTest, OperatorsAreTheSumsOfTheirNodes) {
  const Profile profile = profile_of(profiler_, {});
  int nodes = 0;
  std::int64_t ops = 0;
  for (const Row& row : profile.by_operator) {
    nodes += row.nodes;
    ops += row.work.ops;
  }
  EXPECT_EQ(nodes, static_cast<int>(profile.by_node.size()));
  EXPECT_GT(ops, 0);
}

TEST_F(ProfilerTest, TheTableSaysWhatSharesAreOf) {
  const std::string text = profile_text(profile_of(profiler_, {2e11, 3e10}));
  EXPECT_THAT(text, HasSubstr("median of 2 runs after a first one"));
  EXPECT_THAT(text, HasSubstr("measured peak 200 GFLOP/s, 30.0 GB/s"));
  EXPECT_THAT(text, HasSubstr("between nodes"));
}

TEST_F(ProfilerTest, TheTableNamesOperatorsInPlainLoops) {
  EXPECT_THAT(profile_text(profile_of(profiler_, {})), Not(HasSubstr("plain loops")));
  Profiler judged(clock_);
  run(graph::Backend::kRef, judged);  // which is nothing but plain loops
  EXPECT_THAT(profile_text(profile_of(judged, {})),
              HasSubstr("In plain loops, as no fast kernel takes such calls: "));
}

// A row may have a fast kernel that does not take such a call.
TEST_F(ProfilerTest, TheTableNamesWhatFastSessionsLeaveToPlainLoopsFastSessionsLeaveToPlainLoops) {
  if (kernels::available_isas().empty()) GTEST_SKIP() << "no fast kernels here";
  graph::testing::GraphMaker maker;
  const graph::ValueId x = maker.input({4});
  maker.output(maker.node("Max", std::vector<graph::ValueId>(9, x)));
  Profiler profiler(clock_);
  auto session = graph::Session::create(maker.finish(), {});
  const auto input = tensor::Tensor::of<float>({4}, std::array{1.f, 2.f, 3.f, 4.f});
  for (int i = 0; i < 2; ++i) {
    profiler.begin_run();
    ASSERT_TRUE(session->run({&input, 1}, {.tracer = &profiler}));
    profiler.end_run();
  }
  EXPECT_THAT(profile_text(profile_of(profiler, {})), HasSubstr("In plain loops"));
}

TEST_F(ProfilerTest, TheTraceHasEveryNodeOfEveryRun) {
  const Json trace = Json::parse(trace_json(profiler_));
  const std::size_t nodes = profiler_.runs().front().nodes.size();
  ASSERT_EQ(trace.at("traceEvents").size(), 3 * (nodes + 1));
  for (const Json& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GT(event.at("dur"), 0);
  }
}

TEST(PeakTest, IsOfThisMachine) {
  if (kernels::available_isas().empty()) GTEST_SKIP() << "no instruction set of cpu/";
  kernels::ThreadPool threads(2);
  const core::SystemClock clock;
  const auto peak = kernels::measure_peak(kernels::available_isas().back(), threads, clock);
  ASSERT_TRUE(peak);
  EXPECT_GT(peak->ops_per_s, 1e8);
  EXPECT_GT(peak->bytes_per_s, 1e7);
}

}  // namespace
}  // namespace commensal::profile
