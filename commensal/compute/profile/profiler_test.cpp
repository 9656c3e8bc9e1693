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

/// A millisecond passes with every look, and some forty once in `spacing` looks.
class TickingClock final : public core::Clock {
 public:
  explicit TickingClock(std::int64_t spacing = std::int64_t{1} << 40, std::int64_t first = 0)
      : spacing_(spacing), looks_(first), first_(first) {}
  std::int64_t monotonic_ns() const override {
    ++looks_;
    return 1'000'000 * (looks_ + 40 * (looks_ / spacing_));
  }
  std::int64_t wall_ms() const override { return 0; }
  std::int64_t looks() const { return looks_ - first_; }

 private:
  const std::int64_t spacing_;
  mutable std::int64_t looks_;
  const std::int64_t first_;
};

class ProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override { run(graph::Backend::kCpu, profiler_); }
  static void run(graph::Backend backend, Profiler& profiler, int runs = 3) {
    const auto graph =
        graph::onnx::import_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
    ASSERT_TRUE(graph);
    auto session = graph::Session::create(*graph, {.backend = backend});
    ASSERT_TRUE(session);
    const std::vector<float> pixels(64, 0.5f);
    const std::vector inputs = {
        tensor::Tensor::of<float>(*tensor::Shape::of({{1, 1, 8, 8}}), pixels)};
    for (int run = 0; run < runs; ++run) {
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
    EXPECT_GT(row.bytes, 0) << row.name;
    sum += row.seconds;
  }
  // Of each node four: one is its own, one between it and the next, two are the profiler's.
  EXPECT_DOUBLE_EQ(profile.own_seconds, 2 * sum);
  EXPECT_DOUBLE_EQ(profile.run_seconds, 2 * sum + 1e-3);
}

// Where each run is held up in another node, none of their medians has it.
TEST_F(ProfilerTest, BetweenNodesIsWhatWasBetweenThem) {
  const std::int64_t a_run = clock_.looks() / 3;
  int held_between = 0;
  for (std::int64_t first = 0; first < 4; ++first) {  // of a node's four looks
    const TickingClock clock(a_run + 4, first);
    Profiler profiler(clock);
    run(graph::Backend::kCpu, profiler, 6);
    const Profile profile = profile_of(profiler, {});
    for (const Row& row : profile.by_node) EXPECT_LT(row.seconds, 10e-3) << row.name;
    if (profile.between_seconds > 10e-3 + 1e-3 * static_cast<double>(profile.by_node.size()))
      ++held_between;
  }
  EXPECT_EQ(held_between, 1);
}

/// x = Softmax(CumSum(x)), `count` times; x doubles in length in each turn if it grows.
std::shared_ptr<const graph::Graph> loop(std::int64_t count, bool grows) {
  graph::testing::GraphMaker body;
  body.input({}, tensor::DType::kInt64);
  const graph::ValueId on = body.input({}, tensor::DType::kBool), x = body.input({-1});
  graph::ValueId y = body.node("Softmax", {body.node("CumSum", {x, body.integers({0})})});
  kernels::Attributes axis;
  axis.set("axis", std::int64_t{0});
  if (grows) y = body.node("Concat", {y, y}, axis);
  body.output(body.node("Identity", {on}));
  body.output(y);
  graph::testing::GraphMaker maker;
  const graph::ValueId start = maker.input({4});
  const auto trips = maker.constant(tensor::Tensor::of<std::int64_t>({}, std::array{count}));
  const auto last = maker.node("Loop", {trips, graph::kAbsent, start});
  maker.graph().nodes.back().subgraphs = {{"body", body.finish(), {}}};
  maker.output(last);
  return maker.finish();
}

void run_twice(const std::shared_ptr<const graph::Graph>& graph, Profiler& profiler,
               const tensor::Tensor& input = tensor::Tensor::of<float>({4}, std::array{1.f, 2.f,
                                                                                       3.f, 4.f})) {
  auto session = graph::Session::create(graph, {});
  ASSERT_TRUE(session);
  for (int i = 0; i < 2; ++i) {
    profiler.begin_run();
    ASSERT_TRUE(session->run({&input, 1}, {.tracer = &profiler}));
    profiler.end_run();
  }
}

TEST_F(ProfilerTest, ALoopsNodesHaveARowEachUnderTheLoopsName) {
  Profiler profiler(clock_);
  constexpr std::int64_t kTurns = 50'000;
  run_twice(loop(kTurns, false), profiler);
  const Profile profile = profile_of(profiler, {});
  const auto row = std::ranges::find(profile.by_node, "Softmax", &Row::op);
  ASSERT_NE(row, profile.by_node.end());
  EXPECT_EQ(row->name, "Loop_0/body/Softmax_1");
  EXPECT_EQ(row->turns, kTurns);
  EXPECT_NEAR(row->seconds, 1e-3 * kTurns, 1e-6);
  EXPECT_LT(profile.by_node.size(), 10u);
  EXPECT_THAT(profile_text(profile),
              HasSubstr("Loop_0/body/Softmax_1 (Softmax, 50000 turns) float32[4]"));
  EXPECT_EQ(profiler.turns().size(), kTurnsMax);
  const Json trace = Json::parse(trace_of(profiler).json);
  EXPECT_EQ(trace.at("traceEvents").size(), kTurnsMax + 2);
  EXPECT_GT(trace.at("otherData").at("turns_left_out"), 0);
}

TEST_F(ProfilerTest, ANodeOfManyTypesIsSaidToHaveThem) {
  Profiler profiler(clock_);
  run_twice(loop(12, true), profiler);  // which is more than are planned
  const std::string text = profile_text(profile_of(profiler, {}));
  EXPECT_THAT(text, HasSubstr(" and others\n"));
}

// It is planned for the first types, and runs as it is for later ones, elsewhere in memory.
TEST_F(ProfilerTest, ANodeHasOneRowHoweverOftenItIsPlanned) {
  graph::testing::GraphMaker body;
  const graph::ValueId turn = body.input({}, tensor::DType::kInt64);
  const graph::ValueId on = body.input({}, tensor::DType::kBool), x = body.input({-1});
  const auto two =
      body.constant(tensor::Tensor::of<std::int64_t>({}, std::array<std::int64_t, 1>{2}));
  const auto times = body.node("Add", {body.node("Mod", {turn, two}), body.integers({1})});
  const graph::ValueId y = body.node("Softmax", {body.node("CumSum", {x, body.integers({0})})});
  body.output(body.node("Identity", {on}));
  body.output(body.node("Tile", {y, times}));  // longer every second turn
  constexpr std::int64_t kTurns = 20;
  graph::testing::GraphMaker maker;
  const graph::ValueId start = maker.input({4});
  const auto trips = maker.constant(tensor::Tensor::of<std::int64_t>({}, std::array{kTurns}));
  const auto last = maker.node("Loop", {trips, graph::kAbsent, start});
  maker.graph().nodes.back().subgraphs = {{"body", body.finish(), {}}};
  maker.output(last);
  Profiler profiler(clock_);
  run_twice(maker.finish(), profiler);
  const Profile profile = profile_of(profiler, {});
  for (const char* op : {"Softmax", "CumSum", "Tile"}) {
    ASSERT_EQ(std::ranges::count(profile.by_node, op, &Row::op), 1) << op;
    EXPECT_EQ(std::ranges::find(profile.by_node, op, &Row::op)->turns, kTurns) << op;
  }
}

TEST_F(ProfilerTest, ALongNameLacksItsMiddle) {
  auto graph = std::make_shared<graph::Graph>(*loop(2, false));
  graph->nodes.back().name = std::string(1'000, 'a');
  Profiler profiler(clock_);
  run_twice(graph, profiler);
  for (const NodeTimes& node : profiler.nodes()) EXPECT_LE(node.name.size(), 256u);
  const auto softmax = std::ranges::find(profiler.nodes(), "Softmax", &NodeTimes::op);
  ASSERT_NE(softmax, profiler.nodes().end());
  EXPECT_THAT(softmax->name, HasSubstr("a/body/Softmax_1"));
}

TEST_F(ProfilerTest, ATraceEndsWhereItIsLargeEnough) {
  const Trace whole = trace_of(profiler_), part = trace_of(profiler_, whole.json.size() / 2);
  EXPECT_EQ(whole.left_out, 0);
  EXPECT_EQ(part.turns + part.left_out, whole.turns);
  EXPECT_LT(part.json.size(), 2 * whole.json.size() / 3);
  EXPECT_EQ(Json::parse(part.json).at("otherData").at("turns_left_out"), part.left_out);
}

TEST_F(ProfilerTest, NoArithmeticIsCountedWhereNoneIsKnown) {
  Profiler profiler(clock_);
  run_twice(loop(1, true), profiler);
  for (const Row& row : profile_of(profiler, {}).by_node) EXPECT_EQ(row.ops, 0) << row.name;
}

TEST_F(ProfilerTest, OperatorsAreTheSumsOfTheirNodes) {
  const Profile profile = profile_of(profiler_, {});
  int nodes = 0;
  double ops = 0;
  for (const Row& row : profile.by_operator) {
    nodes += row.nodes;
    ops += row.ops;
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
  EXPECT_THAT(profile_text(profile_of(judged, {})), HasSubstr("In plain loops: "));
}

// A row may have a fast kernel that does not take such a call.
TEST_F(ProfilerTest, TheTableNamesWhatFastSessionsLeaveToPlainLoops) {
  if (kernels::available_isas().empty()) GTEST_SKIP() << "no fast kernels here";
  graph::testing::GraphMaker maker;
  const graph::ValueId x = maker.input({4});
  maker.output(maker.node("Max", std::vector<graph::ValueId>(9, x)));
  Profiler profiler(clock_);
  run_twice(maker.finish(), profiler);
  EXPECT_THAT(profile_text(profile_of(profiler, {})), HasSubstr("In plain loops"));
}

// The fault: int64, of which the codes are that kernels see.
TEST_F(ProfilerTest, StringsAreShownAsStrings) {
  kernels::Attributes axis;
  axis.set("axis", std::int64_t{0});
  graph::testing::GraphMaker maker;
  const graph::ValueId x = maker.input({2}, tensor::DType::kString);
  const graph::ValueId both = maker.node("Concat", {x, x}, axis);
  maker.output(both);
  maker.output(maker.node("Equal", {both, both}, {}, 19));
  Profiler profiler(clock_);
  run_twice(maker.finish(), profiler, tensor::Tensor::of_strings({2}, {"a", "b"}));
  const std::string text = profile_text(profile_of(profiler, {}));
  EXPECT_THAT(text, HasSubstr("(Concat) string[4]"));
  EXPECT_THAT(text, HasSubstr("(Equal) bool[4]"));
}

TEST_F(ProfilerTest, TheTraceHasEveryNodeOfEveryRun) {
  const Json trace = Json::parse(trace_of(profiler_).json);
  const std::size_t nodes = profiler_.nodes().size();
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
