// SPDX-License-Identifier: Apache-2.0
// What the random cases of the other tests do not meet: exact small ones, and refusals.
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/grad/testing/case.hpp>

namespace commensal::grad {
namespace {

using namespace testing;

TEST(Maker, TypesStayGoodWhenValuesAreAdded) {
  graph::testing::GraphMaker graph;
  const ValueId x = graph.input({2, 3});
  Maker maker(graph.graph(), {});
  const Value first = maker.constant(Tensor::of<float>({2}, std::vector<float>{1, 2}));
  const tensor::TensorType& type = first.type();
  for (int i = 0; i < 1000; ++i) maker.input("more", type);
  EXPECT_EQ(&type, &first.type());
  EXPECT_EQ(type.text(), "float32[2]");
  EXPECT_FALSE(maker.known_type(x));
}

/// The gradient of a graph with one input by its rules, of these elements.
core::Result<std::vector<double>> gradient_of(Case& written, ValueId output,
                                              const std::vector<double>& at) {
  COMMENSAL_TRY(written.finish({output}));
  COMMENSAL_ASSIGN(const auto graph, with_gradients(written.graph(), written.wanted()));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(graph, {.backend = graph::Backend::kRef}));
  const std::vector<Tensor> inputs = {Tensor::of<double>(written.inputs()[0].shape(), at)};
  COMMENSAL_ASSIGN(const auto made, session.run(inputs));
  const auto all = made[1].data<double>();
  return std::vector<double>(all.begin(), all.end());
}

TEST(TrainingEdges, AreFiniteWhereOneIs) {
  Case power(1, Case::Form::kWide);
  const auto flat = gradient_of(power, power.op("Pow", {power.in({2}), power.number(0)}), {0, 3});
  ASSERT_TRUE(flat) << flat.error().message;
  EXPECT_EQ(*flat, (std::vector<double>{0, 0}));
  Case length(1, Case::Form::kWide);
  const ValueId x = length.in({2, 2});
  const auto zero =
      gradient_of(length, length.op("ReduceL2", {x, length.integers({1}, {1})}), {0, 0, 3, 4});
  ASSERT_TRUE(zero) << zero.error().message;
  EXPECT_EQ((*zero)[0], 0);
  EXPECT_EQ((*zero)[1], 0);
  EXPECT_NEAR((*zero)[3] / (*zero)[2], 4.0 / 3, 1e-12);
}

TEST(TrainingRefusals, OfSecondOutputs) {
  Case c(1, Case::Form::kNarrow);
  const ValueId x = c.in({2, 3});
  const ValueId each = c.fixed({3}, 0.5f, 1);
  const auto outputs = c.ops("BatchNormalization", {x, each, each, each, each}, 3,
                             with({{"training_mode", integer(1)}}));
  ASSERT_TRUE(c.finish({outputs[0], outputs[1]}));
  const auto made = with_gradients(c.graph(), c.wanted());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("its output 1 has no gradient"));
}

/// x * w of its own, inside a graph.
graph::Subgraph product_of(const char* name, const std::vector<ValueId>& captures) {
  graph::testing::GraphMaker body;
  body.output(body.node("Mul", {body.input({2}), body.input({2})}));
  return {name, body.finish(), captures};
}

/// if(true) {x * w} + x * w: half of what decides the sum goes through the If.
struct Halves {
  graph::testing::GraphMaker maker;
  ValueId w, only_inside, loss;
  Halves() {
    const ValueId x = maker.input({2});
    w = maker.floats({2});
    only_inside = maker.floats({2});
    const ValueId outside = maker.node("Mul", {x, w});
    const ValueId inside = maker.node("If", {maker.input({}, DType::kBool)});
    maker.graph().nodes.back().subgraphs = {product_of("then_branch", {w, only_inside}),
                                            product_of("else_branch", {w, only_inside})};
    const ValueId both = maker.node("Add", {inside, outside});
    loss = maker.node("ReduceSum", {both}, with({{"keepdims", integer(0)}}));
    maker.output(loss);
  }
  std::string name(ValueId id) { return maker.graph().name_of(id); }
};

TEST(TrainingRefusals, OfAWayThroughAGraphInsideBesideAnother) {
  Halves halves;
  auto& graph = halves.maker.graph();
  const auto made = with_gradients(graph, {{{DType::kFloat32, {2}}, {DType::kBool, {}}},
                                           halves.name(halves.loss),
                                           {halves.name(halves.w)}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("(If)"));
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("this operator has no gradient"));
}

TEST(TrainingRefusals, WeightsOfGraphsInsideAreWeights) {
  Halves halves;
  const auto names = weights_of(halves.maker.graph(), halves.name(halves.loss));
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ::testing::UnorderedElementsAre(halves.name(halves.w),
                                                      halves.name(halves.only_inside)));
}

}  // namespace
}  // namespace commensal::grad
