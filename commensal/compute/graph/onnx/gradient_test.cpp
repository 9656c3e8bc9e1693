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
using Dims = std::vector<std::int64_t>;

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

void add_integers(::onnx::ModelProto& model, const std::string& name, const Dims& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  auto* list = add_initialiser(model, name, {count}, ::onnx::TensorProto::INT64);
  for (const std::int64_t value : values) list->add_int64_data(value);
}

void set_integers(::onnx::NodeProto* node, const char* name, const Dims& values) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
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

/// What an import says of a model whose x has these dimensions, with the gradient of `y` by x.
std::string refusal(const Dims& dims, const std::function<void(::onnx::ModelProto&)>& write) {
  auto model = training_model();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  shape->clear_shape();
  for (const std::int64_t dim : dims) shape->mutable_shape()->add_dim()->set_dim_value(dim);
  write(model);
  add_gradient(model, {"x"}, {}, "s", {"x"}, {"y"});
  const auto made = import_model(model);
  return made ? std::string("accepted") : made.error().message;
}

constexpr std::int64_t kLong = std::int64_t{1} << 27;

TEST(TrainingGradientNodes, OfWhatIsTooLargeAreRefused) {
  EXPECT_THAT(refusal({1, 1, kLong},
                      [](auto& m) {  // by a square matrix
                        auto* scales = add_initialiser(m, "scales", {3});
                        for (const float scale : {1.0f, 1.0f, 2.0f}) scales->add_float_data(scale);
                        add_node(m, "Resize", {"x", "", "scales"}, {"s"});
                      }),
              HasSubstr("what its gradients take is too large: a shape of more than"));
  EXPECT_THAT(refusal({1, 1, kLong},
                      [](auto& m) {
                        auto* pool = add_node(m, "AveragePool", {"x"}, {"s"});
                        set_integers(pool, "kernel_shape", {1});
                      }),
              HasSubstr("too large constants"));
  EXPECT_THAT(refusal({kLong},
                      [](auto& m) {
                        add_integers(m, "starts", {0});
                        add_integers(m, "ends", {kLong});
                        add_integers(m, "axes", {0});
                        add_integers(m, "steps", {2});
                        add_node(m, "Slice", {"x", "starts", "ends", "axes", "steps"}, {"s"});
                      }),
              HasSubstr("too large constants"));
  EXPECT_THAT(refusal({1 << 20, 2},
                      [](auto& m) {  // of which each has its eight mebibytes
                        std::string before = "x";
                        add_integers(m, "pads", {1, 0, 1, 0});
                        for (int i = 0; i < 9; ++i) {
                          const std::string next = i == 8 ? "s" : "p" + std::to_string(i);
                          auto* pad = add_node(m, "Pad", {before, "pads"}, {next});
                          auto* mode = pad->add_attribute();
                          mode->set_name("mode");
                          mode->set_type(::onnx::AttributeProto::STRING);
                          mode->set_s("edge");
                          before = next;
                        }
                      }),
              HasSubstr("too large constants"));
}

TEST(TrainingGradientNodes, ThatDoubleEachOtherAreRefused) {
  const auto chain = [](int length) {
    return refusal({2, 3}, [&](auto& m) {
      add_node(m, "Sin", {"x"}, {"inner"});
      add_node(m, "Tanh", {"inner"}, {"s0"});
      for (int i = 0; i < length; ++i) {
        add_gradient(m, {"x"}, {}, "s" + std::to_string(i), {"x"}, {"s" + std::to_string(i + 1)});
      }
      add_node(m, "Identity", {"s" + std::to_string(length)}, {"s"});
    });
  };
  EXPECT_EQ(chain(6), "accepted");
  EXPECT_THAT(chain(40), HasSubstr("is too large a graph"));
}

TEST(TrainingGradientNodes, ManyOfALargeGraphAreRefused) {
  EXPECT_THAT(refusal({2, 3},
                      [](auto& m) {
                        add_node(m, "Exp", {"x"}, {"s"});
                        std::string before = "x";
                        for (int i = 0; i < 20'000; ++i) {
                          add_node(m, "Neg", {before}, {"n" + std::to_string(i)});
                          before = "n" + std::to_string(i);
                        }
                        for (int i = 0; i < 200; ++i) {
                          add_gradient(m, {"x"}, {}, "s", {"x"}, {"y" + std::to_string(i)});
                        }
                      }),
              HasSubstr("too many for a graph so large"));
}

TEST(TrainingGradientNodes, WhatNobodyReadsIsNotThere) {
  auto model = training_model();
  add_node(model, "Mul", {"x", "x"}, {"square"});
  add_node(model, "Sin", {"square"}, {"wave"});
  add_gradient(model, {"square"}, {}, "wave", {"x"}, {"y"});  // wave of x is computed for nothing
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto sines = std::ranges::count_if((*graph)->nodes,
                                           [](const Node& node) { return node.op->name == "Sin"; });
  EXPECT_EQ(sines, 1);
  expect_near(run(model), [](double x) { return std::cos(x); });
}

TEST(TrainingGradientNodes, AWayThroughControlFlowIsRefused) {
  EXPECT_THAT(refusal({2},
                      [](auto& m) {  // beside one that has a gradient
                        auto* flag = add_initialiser(m, "flag", {}, ::onnx::TensorProto::BOOL);
                        flag->add_int32_data(1);
                        auto* node = add_node(m, "If", {"flag"}, {"inner"});
                        for (const char* name : {"then_branch", "else_branch"}) {
                          auto* attribute = node->add_attribute();
                          attribute->set_name(name);
                          attribute->set_type(::onnx::AttributeProto::GRAPH);
                          auto* body = attribute->mutable_g();
                          body->set_name(name);
                          auto* square = body->add_node();
                          square->set_op_type("Mul");
                          for (int i = 0; i < 2; ++i) square->add_input("x");
                          square->add_output(name);
                          body->add_output()->set_name(name);
                        }
                        add_node(m, "Add", {"inner", "x"}, {"s"});
                      }),
              HasSubstr("(If): this operator has no gradient"));
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
