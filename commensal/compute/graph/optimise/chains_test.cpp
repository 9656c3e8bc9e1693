// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/optimise/testing/fusion_cases.hpp>
#include <commensal/compute/kernels/cpu/chain.hpp>

namespace commensal::graph::optimise {
namespace {

using namespace testing;
using namespace graph::testing;

/// Sizes of the chains in the graph, in values of all steps; the bits stay.
std::vector<std::size_t> chains_of(const GraphMaker& maker) {
  expect_same(maker, Role::kNone);
  const auto graph = maker.finish();
  std::vector<tensor::TensorType> types;
  for (const ValueId id : graph->inputs) {
    const Declared& declared = graph->values[static_cast<std::size_t>(id)].declared;
    types.push_back({declared.dtype, *tensor::Shape::of(declared.dims)});
  }
  const auto fused = optimised(*graph, types);
  std::vector<std::size_t> made;
  for (const Node& node : fused->nodes) {
    if (node.op != &kernels::cpu::chain_operator()) continue;
    made.push_back(node.attributes.integers("steps")->size() /
                   (2 + kernels::cpu::ChainStep::kOperandsMax));
  }
  return made;
}

using Sizes = std::vector<std::size_t>;

/// As AdamW has it: three outputs, numbers that come as inputs.
TEST(EqualityChains, StepOfAnOptimiser) {
  GraphMaker maker;
  const ValueId w = maker.input({37, 53}), m = maker.input({37, 53}), v = maker.input({37, 53});
  const ValueId g = maker.input({37, 53}), rate = maker.input({}), settled = maker.input({1});
  const auto two = [&](const char* op, ValueId a, ValueId b) { return maker.node(op, {a, b}); };
  const ValueId m2 =
      two("Add", two("Mul", m, number_of(maker, 0.9f)), two("Mul", g, number_of(maker, 0.1f)));
  const ValueId v2 = two("Add", two("Mul", v, number_of(maker, 0.99f)),
                         two("Mul", two("Mul", g, g), number_of(maker, 0.01f)));
  const ValueId root = maker.node("Sqrt", {two("Div", v2, settled)});
  const ValueId move = two("Div", m2, two("Add", root, number_of(maker, 1e-8f)));
  maker.output(m2);
  maker.output(two("Sub", w, two("Mul", move, rate)));
  maker.output(v2);
  EXPECT_EQ(chains_of(maker), Sizes{13});
}

TEST(EqualityChains, GreaterAndWhereAreOneStep) {
  GraphMaker maker;
  const ValueId x = maker.input({2, 3, 700}), dy = maker.input({2, 3, 700});
  const ValueId above = maker.node("Greater", {x, number_of(maker, 0)});
  const ValueId passed = maker.node("Where", {above, dy, number_of(maker, 0)});
  maker.output(maker.node("Mul", {maker.node("Neg", {passed}), x}));
  EXPECT_EQ(chains_of(maker), Sizes{3});
}

/// What somebody else needs before the last step runs is made before.
TEST(EqualityChains, ANodeBetweenStepsSplitsThem) {
  GraphMaker maker;
  const ValueId x = maker.input({24, 24});
  const ValueId a = maker.node("Exp", {maker.node("Neg", {x})});
  const ValueId product = maker.node("MatMul", {a, x});
  const ValueId b = maker.node("Add", {a, product});
  maker.output(maker.node("Sqrt", {maker.node("Abs", {b})}));
  EXPECT_EQ(chains_of(maker), (Sizes{2, 3}));
}

/// Broadcast rows, other types, single operators and vectors of one stay as they are.
TEST(EqualityChains, OthersStay) {
  GraphMaker maker;
  const ValueId x = maker.input({6, 50}), row = maker.input({50}), one = maker.input({1});
  const ValueId n = maker.input({6, 50}, tensor::DType::kInt32);
  maker.output(maker.node("Mul", {maker.node("Add", {x, row}), row}));
  maker.output(maker.node("Mul", {maker.node("Add", {n, n}), n}));
  maker.output(maker.node("Mul", {maker.node("Add", {one, one}), one}));
  maker.output(maker.node("Exp", {x}));
  EXPECT_EQ(chains_of(maker), Sizes{});
}

/// A budget counts what the nodes would have counted.
TEST(EqualityChains, CountsItsSteps) {
  GraphMaker maker;
  const ValueId x = maker.input({8, 100});
  maker.output(maker.node("Neg", {maker.node("Exp", {maker.node("Abs", {x})})}));
  const auto graph = maker.finish();
  auto session = *Session::create(graph, {});
  const std::vector inputs{tensor::Tensor::of<float>({8, 100}, std::vector<float>(800, 0.5f))};
  EXPECT_EQ(session.run(inputs, {.ops_max = 3 * 800 - 1}).error().code,
            core::ErrorCode::kOverBudget);
  EXPECT_TRUE(session.run(inputs, {.ops_max = 4 * 800}));  // of an odd step, one more
}

/// More steps than one node takes.
TEST(EqualityChains, LongOnesAreCut) {
  GraphMaker maker;
  const ValueId x = maker.input({3, 1000});
  ValueId y = x;
  for (int i = 0; i < 60; ++i)
    y = maker.node(i % 2 == 0 ? "Tanh" : "Mul", i % 2 == 0 ? std::vector{y} : std::vector{y, x});
  maker.output(y);
  std::size_t all = 0;
  for (const std::size_t steps : chains_of(maker)) {
    EXPECT_LE(steps, kernels::cpu::kChainStepsMax);
    all += steps;
  }
  EXPECT_EQ(all, 60u);
}

}  // namespace
}  // namespace commensal::graph::optimise
