// SPDX-License-Identifier: Apache-2.0
// ONNX's Gradient, written out as the operators that make it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <commensal/compute/graph/session.hpp>

namespace commensal::graph::onnx::testing {
namespace {

using tensor::Tensor;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

::onnx::ModelProto training_model() {
  ::onnx::ModelProto model = empty_model(15);
  auto* import = model.add_opset_import();
  import->set_domain("ai.onnx.preview.training");
  import->set_version(1);
  return model;
}

::onnx::NodeProto* add_gradient(::onnx::ModelProto& model, const Names& xs, const Names& zs,
                                const std::string& y, const Names& inputs, const Names& outputs) {
  auto* node = add_node(model, "Gradient", inputs, outputs);
  node->set_domain("ai.onnx.preview.training");
  node->set_name("slope");
  const auto list = [&](const char* name, const Names& all) {
    if (all.empty()) return;
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& one : all) attribute->add_strings(one);
  };
  list("xs", xs);
  list("zs", zs);
  auto* attribute = node->add_attribute();
  attribute->set_name("y");
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s(y);
  return node;
}

const std::vector<float> kX = {-1, 2, 0.5f, 3, -2, 1};

/// What the model makes of kX.
std::vector<float> run(const ::onnx::ModelProto& model) {
  const auto graph = import_model(model);
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return {};
  auto session = Session::create(*graph, {});
  EXPECT_TRUE(session);
  const std::vector<Tensor> inputs = {Tensor::of<float>({2, 3}, kX)};
  const auto made = session->run(inputs);
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return {};
  const auto all = made->front().data<float>();
  return {all.begin(), all.end()};
}

void expect_near(const std::vector<float>& got, const std::function<double(double)>& f) {
  ASSERT_EQ(got.size(), kX.size());
  for (std::size_t i = 0; i < kX.size(); ++i) {
    const double expected = f(static_cast<double>(kX[i]));
    EXPECT_NEAR(got[i], expected, 1e-5 * (1 + std::abs(expected))) << i;
  }
}

TEST(TrainingGradientNodes, OfTheGraphAsItStands) {
  auto model = training_model();
  add_node(model, "Mul", {"x", "x"}, {"square"});
  add_gradient(model, {"x"}, {}, "square", {"x"}, {"y"});
  expect_near(run(model), [](double x) { return 2 * x; });
  const auto graph = *import_model(model);
  for (const Node& node : graph->nodes) EXPECT_TRUE(node.op->domain.empty()) << node.op->name;
}

TEST(TrainingGradientNodes, OfOtherValuesInTheirPlaces) {
  auto model = training_model();
  add_node(model, "Mul", {"x", "x"}, {"square"});
  add_node(model, "Neg", {"x"}, {"other"});
  add_gradient(model, {"x"}, {}, "square", {"other"}, {"y"});
  expect_near(run(model), [](double x) { return -2 * x; });
}

TEST(TrainingGradientNodes, NamedValuesDoNotDependOnEachOther) {
  for (const int which : {0, 1}) {
    auto model = training_model();
    add_node(model, "Exp", {"x"}, {"e"});
    add_node(model, "Mul", {"e", "e"}, {"ee"});
    add_node(model, "Mul", {"ee", "x"}, {"s"});
    const Names outputs = which == 0 ? Names{"y", "rest"} : Names{"rest", "y"};
    add_gradient(model, {"e", "x"}, {}, "s", {"e", "x"}, outputs);
    expect_near(run(model),
                [&](double x) { return which == 0 ? 2 * std::exp(x) * x : std::exp(2 * x); });
  }
  auto model = training_model();  // a value that stands still
  add_node(model, "Exp", {"x"}, {"e"});
  add_node(model, "Mul", {"e", "x"}, {"s"});
  add_gradient(model, {"x"}, {"e"}, "s", {"x", "e"}, {"y"});
  expect_near(run(model), [](double x) { return std::exp(x); });
}

TEST(TrainingGradientNodes, OfGradients) {
  auto model = training_model();
  add_node(model, "Mul", {"x", "x"}, {"square"});
  add_node(model, "Mul", {"square", "x"}, {"cube"});
  add_gradient(model, {"x"}, {}, "cube", {"x"}, {"first"});
  add_gradient(model, {"x"}, {}, "first", {"x"}, {"second"});
  add_node(model, "Identity", {"second"}, {"y"});
  expect_near(run(model), [](double x) { return 6 * x; });
}

TEST(TrainingGradientNodes, OfWhatDoesNotDependOnItAreZeros) {
  auto model = training_model();
  add_node(model, "Mul", {"x", "x"}, {"square"});
  add_node(model, "Exp", {"x"}, {"e"});
  add_gradient(model, {"e"}, {}, "square", {"e"}, {"y"});
  expect_near(run(model), [](double) { return 0; });
}

TEST(TrainingGradientNodes, BadOnesAreRefusedInOneLine) {
  const auto message = [](const std::function<void(::onnx::ModelProto&)>& write) {
    auto model = training_model();
    add_node(model, "Mul", {"x", "x"}, {"square"});
    write(model);
    const auto made = import_model(model);
    return made ? std::string("accepted") : made.error().message;
  };
  EXPECT_THAT(message([](auto& m) { add_gradient(m, {"z"}, {}, "square", {"x"}, {"y"}); }),
              HasSubstr("'slope' (Gradient): nothing before it defines 'z'"));
  EXPECT_THAT(message([](auto& m) { add_gradient(m, {"x"}, {}, "later", {"x"}, {"y"}); }),
              HasSubstr("nothing before it defines 'later'"));
  EXPECT_THAT(message([](auto& m) { add_gradient(m, {"x"}, {"square"}, "square", {"x"}, {"y"}); }),
              HasSubstr("1 inputs and 1 outputs, expected 2"));
  EXPECT_THAT(message([](auto& m) { add_gradient(m, {}, {}, "square", {"x"}, {"y"}); }),
              HasSubstr("expected attributes xs"));
  EXPECT_THAT(message([](auto& m) {
                add_node(m, "ArgMax", {"x"}, {"place"});
                add_gradient(m, {"x"}, {}, "place", {"x"}, {"y"});
              }),
              HasSubstr("expected floating-point numbers"));
  EXPECT_THAT(message([](auto& m) {
                m.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape()
                    ->mutable_dim(0)
                    ->set_dim_param("N");
                add_gradient(m, {"x"}, {}, "square", {"x"}, {"y"});
              }),
              HasSubstr("expected a tensor of fixed dimensions"));
  EXPECT_THAT(message([](auto& m) {
                add_node(m, "Hardmax", {"square"}, {"h"});
                add_node(m, "Compress", {"square", "chosen"}, {"c"});
                auto* chosen = add_initialiser(m, "chosen", {2}, ::onnx::TensorProto::BOOL);
                chosen->add_int32_data(1);
                chosen->add_int32_data(0);
                add_gradient(m, {"x"}, {}, "c", {"x"}, {"y"});
              }),
              HasSubstr("has no gradient"));
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
