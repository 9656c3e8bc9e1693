// SPDX-License-Identifier: Apache-2.0
// Graphs inside nodes are planned as those around them are, and give the judge's bits.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/graph/tracer.hpp>

namespace commensal::graph {
namespace {

using namespace testing;
using tensor::DType;
using tensor::Tensor;
using Ints = std::vector<std::int64_t>;

kernels::Attributes pads() {
  kernels::Attributes made;
  made.set("pads", Ints{1, 1, 1, 1});
  return made;
}

Tensor values(const tensor::Shape& shape, std::uint64_t stream) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    made.push_back(core::counter_symmetric_f32(1, stream, static_cast<std::uint64_t>(i)));
  }
  return Tensor::of<float>(shape, made);
}

Tensor truth(bool value) { return Tensor::of<bool>({}, std::span<const bool>(&value, 1)); }

/// What runs, as the optimised graph has it.
class Nodes final : public Tracer {
 public:
  bool wants_plain_nodes() const override { return false; }
  void before_node(const Node& node, const kernels::Call&) override {
    names.emplace_back(node.op->name);
  }
  std::vector<std::string> names;
};

/// A branch that captures `picture` and `weights`: Relu(Conv(picture, weights)), or less of it.
Subgraph branch(std::string name, std::vector<ValueId> captures, bool rectified) {
  GraphMaker maker;
  const ValueId x = maker.input({-1, -1, -1, -1}), w = maker.input({-1, -1, -1, -1});
  const ValueId y = maker.node("Conv", {x, w}, pads());
  maker.output(rectified ? maker.node("Relu", {y}) : y);
  return {std::move(name), maker.finish(), std::move(captures)};
}

struct Made {
  std::shared_ptr<const Graph> graph;
  std::vector<Tensor> inputs;
};

/// Conv, a choice between two, Conv; `fixed`: the condition is a constant.
Made choice(bool condition, bool fixed) {
  GraphMaker maker;
  Made made;
  const ValueId x = maker.input({1, 16, 12, 12});
  made.inputs.push_back(values({1, 16, 12, 12}, 1));
  ValueId when = kAbsent;
  if (fixed) {
    when = maker.constant(truth(condition));
  } else {
    when = maker.input({}, DType::kBool);
    made.inputs.push_back(truth(condition));
  }
  const ValueId w = maker.constant(values({16, 16, 3, 3}, 2));
  const ValueId first = maker.node("Conv", {x, w}, pads());
  const ValueId middle = maker.node("If", {when});
  maker.graph().nodes.back().subgraphs = {branch("then_branch", {first, w}, true),
                                          branch("else_branch", {first, w}, false)};
  maker.output(maker.node("Conv", {middle, w}, pads()));
  made.graph = maker.finish();
  return made;
}

/// x and i are carried: x = Tanh(Conv(x, w)) + i; what x was is scanned.
Made turns(std::int64_t count, bool grows) {
  GraphMaker body;
  const ValueId i = body.input({}, DType::kInt64), on = body.input({}, DType::kBool),
                x = body.input({-1, -1, -1, -1}), w = body.input({-1, -1, -1, -1});
  ValueId y = body.node("Tanh", {body.node("Conv", {x, w}, pads())});
  kernels::Attributes to;
  to.set("to", std::int64_t{1});
  y = body.node("Add", {y, body.node("Cast", {i}, to)});
  kernels::Attributes axis;
  axis.set("axis", std::int64_t{2});
  if (grows) y = body.node("Concat", {y, y}, axis);
  body.output(body.node("Identity", {on}));
  body.output(y);
  if (!grows) body.output(x);

  GraphMaker maker;
  const ValueId start = maker.input({1, 16, 3, 5});
  const ValueId weights = maker.constant(values({16, 16, 3, 3}, 3));
  const ValueId trips = maker.constant(Tensor::of<std::int64_t>({}, std::array{count}));
  const auto outputs = maker.node_of("Loop", {trips, kAbsent, start}, {}, 17, grows ? 1 : 2);
  maker.graph().nodes.back().subgraphs = {{"body", body.finish(), {weights}}};
  maker.output(maker.node("Conv", {outputs[0], weights}, pads()));
  if (!grows) maker.output(outputs[1]);
  return {maker.finish(), {values({1, 16, 3, 5}, 4)}};
}

std::vector<std::string> expect_same(const Made& made, int threads = 1) {
  SessionOptions judged;
  judged.backend = Backend::kRef;
  auto ref = Session::create(made.graph, judged);
  SessionOptions planned;
  planned.threads = threads;
  auto fast = Session::create(made.graph, planned);
  EXPECT_TRUE(ref && fast);
  const auto expected = ref->run(made.inputs);
  EXPECT_TRUE(expected) << expected.error().message;
  Nodes nodes;
  for (Tracer* tracer : {static_cast<Tracer*>(nullptr), static_cast<Tracer*>(&nodes)}) {
    RunOptions options;
    options.tracer = tracer;
    const auto got = fast->run(made.inputs, options);
    EXPECT_TRUE(got) << got.error().message;
    if (!got || !expected) return {};
    for (std::size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ((*got)[i].type(), (*expected)[i].type());
      EXPECT_TRUE(std::ranges::equal((*got)[i].bytes(), (*expected)[i].bytes())) << i;
    }
  }
  return nodes.names;
}

int count(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<int>(std::ranges::count(names, name));
}

bool has_planner() { return !kernels::available_isas().empty(); }

TEST(Bodies, AreBlockedLikeWhatIsAroundThem) {
  for (const bool condition : {false, true}) {
    const auto names = expect_same(choice(condition, false));
    if (!has_planner()) continue;
    EXPECT_EQ(count(names, "Conv"), 0) << condition;
  }
}

TEST(Bodies, OfAKnownConditionLieInline) {
  for (const bool condition : {false, true}) {
    const auto names = expect_same(choice(condition, true));
    if (!has_planner()) continue;
    EXPECT_EQ(count(names, "If"), 0);
    EXPECT_EQ(count(names, "Conv"), 0);
    EXPECT_EQ(count(names, "Relu"), 0) << "it is fused into the convolution before it";
  }
}

TEST(Bodies, OfLoopsArePlannedForAllTurns) {
  for (const std::int64_t trips : {1, 7}) {
    const auto names = expect_same(turns(trips, false), 2);
    if (!has_planner()) continue;
    EXPECT_EQ(count(names, "Conv"), 0);
  }
}

// Each turn has another type: the first eight are planned, the others run node by node, as what is
// behind the loop does, and all are right.
TEST(Bodies, MayChangeTheirTypesInEveryTurn) {
  const auto names = expect_same(turns(11, true));
  if (has_planner()) EXPECT_EQ(count(names, "Conv"), 11 - 8 + 1);
}

TEST(Bodies, OfScansArePlannedForAllSteps) {
  GraphMaker body;
  const ValueId state = body.input({-1, -1, -1, -1}), step = body.input({-1, -1, -1, -1});
  const ValueId weights = body.input({16, 16, 1, 1});
  const ValueId mixed = body.node("Relu", {body.node("Conv", {step, weights})});
  body.output(body.node("Add", {state, mixed}));
  body.output(mixed);
  GraphMaker maker;
  const ValueId start = maker.input({1, 16, 3, 3}), steps = maker.input({5, 1, 16, 3, 3});
  const ValueId w = maker.constant(values({16, 16, 1, 1}, 2));
  kernels::Attributes scanned;
  scanned.set("num_scan_inputs", std::int64_t{1});
  const auto outputs = maker.node_of("Scan", {start, steps}, scanned, 17, 2);
  maker.graph().nodes.back().subgraphs = {{"body", body.finish(), {w}}};
  for (const ValueId id : outputs) maker.output(id);
  const auto names =
      expect_same({maker.finish(), {values({1, 16, 3, 3}, 3), values({5, 1, 16, 3, 3}, 4)}});
  if (has_planner()) EXPECT_EQ(count(names, "Conv"), 0);
}

}  // namespace
}  // namespace commensal::graph
