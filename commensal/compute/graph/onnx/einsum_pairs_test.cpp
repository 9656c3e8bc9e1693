// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::graph::onnx::testing {
namespace {

using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

::onnx::NodeProto* add_einsum(::onnx::ModelProto& model, const std::string& equation,
                              int operands) {
  std::vector<std::string> inputs;
  for (int o = 0; o < operands; ++o) inputs.push_back(fmt::format("i{}", o));
  auto* node = add_node(model, "Einsum", inputs, {"y"});
  node->set_name("product");
  auto* attribute = node->add_attribute();
  attribute->set_name("equation");
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s(equation);
  return node;
}

/// Inputs i0, i1, ... and the output y, all of int64.
::onnx::ModelProto einsum_model(const std::string& equation, const std::vector<Shape>& shapes) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  graph.clear_input();
  const auto declare = [](::onnx::ValueInfoProto& info, const std::string& name) {
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::INT64);
  };
  for (std::size_t o = 0; o < shapes.size(); ++o) {
    auto& input = *graph.add_input();
    declare(input, fmt::format("i{}", o));
    auto* dims = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int d = 0; d < shapes[o].rank(); ++d) dims->add_dim()->set_dim_value(shapes[o][d]);
  }
  graph.clear_output();
  declare(*graph.add_output(), "y");
  add_einsum(model, equation, static_cast<int>(shapes.size()));
  return model;
}

Tensor integers(const Shape& shape, std::int64_t seed) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.elements()));
  std::int64_t next = seed;
  for (auto& value : values) value = (next = next * 31 % 101 + 7) % 19 - 9;
  return Tensor::of<std::int64_t>(shape, values);
}

core::Result<std::vector<Tensor>> run(const ::onnx::ModelProto& model,
                                      const std::vector<Tensor>& inputs) {
  COMMENSAL_ASSIGN(const auto graph, import_model(model));
  COMMENSAL_ASSIGN(auto session, Session::create(graph, {}));
  return session.run(inputs);
}

/// What one sum over all labels together gives: integers are exact whatever the order.
Tensor at_once(const std::string& equation, const std::vector<Tensor>& inputs) {
  kernels::testing::Sample sample{"Einsum", 13, inputs};
  sample.attributes.set("equation", equation);
  kernels::testing::SampleCall call(std::move(sample));
  EXPECT_TRUE(call.infer());
  return call.run_ref().at(0);
}

struct EinsumCase {
  const char* equation;
  std::vector<Shape> shapes;
};

const EinsumCase kCases[] = {
    {"ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 6}}},
    {"ij, jk, kl -> li", {{3, 4}, {4, 5}, {5, 6}}},
    {"i,ij,j", {{3}, {3, 4}, {4}}},
    {"bA,Ac,cd", {{2, 3}, {3, 4}, {4, 5}}},
    {"i,j,k->", {{3}, {4}, {5}}},
    {"i,i,i->i", {{4}, {1}, {4}}},
    {"ij,ij,ij->j", {{1, 4}, {1, 1}, {3, 4}}},
    {"ii,ij,jj->i", {{3, 3}, {3, 4}, {4, 4}}},
    {"...i,...ij,kj->k...", {{3, 7}, {2, 3, 7, 9}, {4, 9}}},
    {"a...,b...,c->abc", {{2, 3}, {4, 3}, {5}}},
    {"...a,b,...", {{2, 3}, {4}, {2}}},
    {"ab,bc,cd,de,ef->fa", {{5, 2}, {2, 3}, {3, 2}, {2, 3}, {3, 4}}},
    {"ij,jk,kl->il", {{3, 0}, {0, 5}, {5, 6}}},
    {"ij,kl,jk->il", {{3, 4}, {5, 6}, {4, 5}}},
    {"a,b,ab,c,bc->c", {{3}, {4}, {3, 4}, {2}, {4, 2}}},
};

TEST(EinsumPairs, GiveWhatOneSumGives) {
  for (const EinsumCase& c : kCases) {
    SCOPED_TRACE(c.equation);
    std::vector<Tensor> inputs;
    for (const Shape& shape : c.shapes) inputs.push_back(integers(shape, std::ssize(inputs) + 1));
    const auto model = einsum_model(c.equation, c.shapes);
    const auto graph = import_model(model);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ((*graph)->nodes.size(), c.shapes.size() - 1);
    EXPECT_EQ((*graph)->nodes.back().name, "product");
    EXPECT_EQ((*graph)->nodes.front().name, "product:1");
    const auto made = run(model, inputs);
    ASSERT_TRUE(made) << made.error().message;
    const Tensor expected = at_once(c.equation, inputs);
    EXPECT_EQ((*made)[0].shape(), expected.shape());
    EXPECT_TRUE(std::ranges::equal((*made)[0].data<std::int64_t>(), expected.data<std::int64_t>()));
  }
}

TEST(EinsumPairs, LeaveWhatIsNotWellFormedToBeRefused) {
  const std::vector<Shape> three = {{2}, {2}, {2}};
  for (const auto& [equation, message] : std::vector<std::pair<const char*, const char*>>{
           {"i,i->i", "the equation has 2 terms for 3 inputs"},
           {"i,i,1->i", "term '1' of the equation does not fit its input"},
           {"i,i,..->i", "term '..' of the equation does not fit its input"},
           {".i,i,i->i", "term '.i' of the equation does not fit its input"},
           {"*i,i,i->i", "term '*i' of the equation does not fit its input"},
           {"i,i,i->j", "label 'j' of the output"}}) {
    SCOPED_TRACE(equation);
    std::vector<Tensor> inputs;
    for (const Shape& shape : three) inputs.push_back(integers(shape, 1));
    const auto made = run(einsum_model(equation, three), inputs);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr(message));
  }
}

std::string equation_of(const Graph& graph, std::size_t node) {
  return *graph.nodes[node].attributes.text("equation", "");
}

TEST(EinsumPairs, MakeNoOuterProductThatNeedNotBe) {
  const auto graph = *import_model(einsum_model("ij,kl,jk->il", {{3, 4}, {5, 6}, {4, 5}}));
  EXPECT_EQ(equation_of(*graph, 0), "ij,jk->ik");
  EXPECT_EQ(equation_of(*graph, 1), "ik,kl->il");
}

TEST(EinsumPairs, AreNotMadeWhereAResultWouldHaveTooManyLabels) {
  const Shape ten = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto graph =
      import_model(einsum_model("abcdefghij,aklmnopqrs,bcdefghijk->lmnopqrs", {ten, ten, ten}));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ((*graph)->nodes.size(), 1u);
}

// As if the file had named them.
TEST(EinsumPairs, HaveNamesOfTheirOwnAndValuesOfTheOperandsType) {
  auto model = einsum_model("i,i,i->i", {{2}, {2}, {2}});
  add_node(model, "Neg", {"y"}, {"product:1"});
  for (auto& input : *model.mutable_graph()->mutable_input())
    input.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT16);
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::FLOAT16);
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ((*graph)->nodes.front().name, "product:2");
  const auto f16 = [](float x) {
    const auto one = tensor::to_float16(x);
    return Tensor::of<tensor::Float16>({2}, std::array{one, one});
  };
  const auto made = run(model, {f16(300), f16(300), f16(1.0f / 1024)});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(std::isinf(tensor::to_float((*made)[0].data<tensor::Float16>()[0])));  // 300 * 300
}

/// Where every sum is of one product: pairs round after each of them.
TEST(EinsumPairs, RoundAfterEachPair) {
  auto model = einsum_model("i,i,i->i", {{3}, {3}, {3}});
  auto& graph = *model.mutable_graph();
  for (auto* ports : {graph.mutable_input(), graph.mutable_output()}) {
    for (auto& port : *ports)
      port.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  }
  const std::array<float, 3> a = {0.1f, 1e30f, 3.3f}, b = {0.3f, 1e30f, 1e-40f}, c = {7, 1e-30f, 9};
  std::vector<Tensor> inputs;
  for (const auto& values : {a, b, c}) inputs.push_back(Tensor::of<float>({3}, values));
  const auto made = run(model, inputs);
  ASSERT_TRUE(made) << made.error().message;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float first = a[i] * b[i];
    EXPECT_EQ((*made)[0].data<float>()[i], first * c[i]);
  }
}

TEST(EinsumPairs, AreMadeInBodiesToo) {
  auto model = einsum_model("i,i,i->i", {{2}, {2}, {2}});
  auto& graph = *model.mutable_graph();
  ::onnx::GraphProto body;
  body.set_name("body");
  body.mutable_node()->Swap(graph.mutable_node());
  *body.add_output() = graph.output(0);
  body.mutable_output(0)->set_name("z");
  body.mutable_node(0)->set_output(0, "z");
  auto& condition = *graph.add_input();
  condition.set_name("c");
  condition.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::BOOL);
  condition.mutable_type()->mutable_tensor_type()->mutable_shape();
  auto* node = add_node(model, "If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(branch);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = body;
    body.mutable_node(0)->set_output(0, "w");
    body.mutable_output(0)->set_name("w");
  }
  const Tensor x = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{2, -3});
  const auto made = run(model, {x, x, x, Tensor::of<bool>({}, std::array{true})});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)[0].data<std::int64_t>(), ElementsAre(8, -27));
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
