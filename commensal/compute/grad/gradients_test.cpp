// SPDX-License-Identifier: Apache-2.0
// Every operator with a gradient, against differences; by name; and what is refused.
#include <commensal/compute/grad/table.hpp>
#include <commensal/compute/grad/testing/recipes.hpp>
#include <set>

namespace commensal::grad {
namespace {

using namespace testing;

class Gradients : public ::testing::TestWithParam<Recipe> {};

TEST_P(Gradients, AreThoseOfDifferences) { check(GetParam()); }

std::string printed(const ::testing::TestParamInfo<Recipe>& info) {
  std::string name = fmt::format("{}_", info.index);
  for (const char letter : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) name += letter;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Training, Gradients, ::testing::ValuesIn(all_recipes()), printed);

std::set<std::string> operators_of(const std::vector<Recipe>& recipes) {
  std::set<std::string> tried;
  for (const Recipe& recipe : recipes) {
    Case made(0, Case::Form::kNarrow);
    recipe.write(made);
    for (const graph::Node& node : made.graph().nodes) tried.insert(std::string(node.op->name));
  }
  return tried;
}

TEST(TrainingOperators, EachWithAGradientIsTried) {
  const std::set<std::string> tried = operators_of(all_recipes());
  for (const GradientRow& row : kGradients) {
    EXPECT_TRUE(tried.contains(std::string(row.name))) << row.name << " has no recipe";
  }
}

/// Floating-point operators of models/torchvision's exports, of a GPT as PyTorch and as ONNX's
/// newer opsets have it, and of losses. What only makes shapes, places and masks needs none.
constexpr std::string_view kOfNetworks[] = {"Add",
                                            "Attention",
                                            "AveragePool",
                                            "BatchNormalization",
                                            "Cast",
                                            "Clip",
                                            "Concat",
                                            "Conv",
                                            "ConvTranspose",
                                            "CumSum",
                                            "Div",
                                            "Dropout",
                                            "Einsum",
                                            "Erf",
                                            "Exp",
                                            "Expand",
                                            "Flatten",
                                            "GRU",
                                            "Gather",
                                            "GatherElements",
                                            "GatherND",
                                            "Gelu",
                                            "Gemm",
                                            "GlobalAveragePool",
                                            "GlobalMaxPool",
                                            "GroupNormalization",
                                            "HardSigmoid",
                                            "HardSwish",
                                            "Identity",
                                            "InstanceNormalization",
                                            "LRN",
                                            "LSTM",
                                            "LayerNormalization",
                                            "LeakyRelu",
                                            "Log",
                                            "LogSoftmax",
                                            "MatMul",
                                            "Max",
                                            "MaxPool",
                                            "Min",
                                            "Mul",
                                            "Neg",
                                            "NegativeLogLikelihoodLoss",
                                            "PRelu",
                                            "Pad",
                                            "Pow",
                                            "RMSNormalization",
                                            "RNN",
                                            "Reciprocal",
                                            "ReduceL2",
                                            "ReduceMax",
                                            "ReduceMean",
                                            "ReduceSum",
                                            "Relu",
                                            "Reshape",
                                            "Resize",
                                            "RotaryEmbedding",
                                            "ScatterElements",
                                            "ScatterND",
                                            "Sigmoid",
                                            "Slice",
                                            "Softmax",
                                            "SoftmaxCrossEntropyLoss",
                                            "Split",
                                            "Sqrt",
                                            "Squeeze",
                                            "Sub",
                                            "Sum",
                                            "Swish",
                                            "Tanh",
                                            "Tile",
                                            "TopK",
                                            "Transpose",
                                            "Trilu",
                                            "Unsqueeze",
                                            "Where"};

TEST(TrainingOperators, ThoseOfNetworksHaveGradients) {
  for (const std::string_view name : kOfNetworks) {
    EXPECT_TRUE(std::ranges::binary_search(kGradients, name, {}, &GradientRow::name)) << name;
  }
}

TEST(TrainingRefusals, OfWhatHasNoneAreRefusedByName) {
  Case c(0, Case::Form::kNarrow);
  const ValueId x = c.in({2, 3});
  ASSERT_TRUE(c.finish({c.op("Det", {c.op("MatMul", {x, c.fixed({3, 2})})})}));
  const auto made = with_gradients(c.graph(), c.wanted());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("Det"));
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("has no gradient"));
}

TEST(TrainingRefusals, BadRequestsAreRefused) {
  const auto message = [](const std::function<void(Wanted&)>& spoil) {
    Case c(0, Case::Form::kNarrow);
    const ValueId x = c.in({2, 3});
    c.in({4});
    EXPECT_TRUE(c.finish({c.op("Exp", {x})}));
    Wanted wanted = c.wanted();
    wanted.weights.pop_back();
    spoil(wanted);
    const auto made = with_gradients(c.graph(), wanted);
    return made ? std::string("accepted") : made.error().message;
  };
  EXPECT_EQ(message([](Wanted&) {}), "accepted");
  EXPECT_EQ(message([](Wanted& w) { w.loss = "nothing"; }), "the graph has no value 'nothing'");
  EXPECT_EQ(message([](Wanted& w) { w.weights.push_back(w.weights[0]); }),
            "weight 'x0' is named twice");
  EXPECT_EQ(message([](Wanted& w) { w.weights.push_back("x1"); }),
            "weight 'x1' does not decide the loss '" + std::string("v5") + "'");
  EXPECT_THAT(message([](Wanted& w) { w.loss = "v2"; }),
              ::testing::HasSubstr("expected one floating-point number"));
  EXPECT_EQ(message([](Wanted& w) { w.inputs.pop_back(); }), "1 input types, expected 2");
}

TEST(TrainingRefusals, TheColumnNamesOperatorsOfTheTable) {
  for (const GradientRow& row : kGradients) {
    const auto rows = kernels::model_operators();
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const kernels::Operator& op) {
      return op.domain.empty() && op.name == row.name;
    })) << row.name;
  }
}

}  // namespace
}  // namespace commensal::grad
