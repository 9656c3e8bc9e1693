// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <commensal/compute/graph/session.hpp>

namespace commensal::graph::onnx::testing {
namespace {

using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// mine.Scaled(a; slope) = LeakyRelu(a, alpha = slope) + a
::onnx::FunctionProto* add_scaled(::onnx::ModelProto& model) {
  auto* function = model.add_functions();
  function->set_name("Scaled");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("slope");
  auto* opset = function->add_opset_import();
  opset->set_domain("");
  opset->set_version(model.opset_import(0).version());
  auto* leaky = function->add_node();
  leaky->set_op_type("LeakyRelu");
  leaky->add_input("a");
  leaky->add_output("t");
  auto* alpha = leaky->add_attribute();
  alpha->set_name("alpha");
  alpha->set_ref_attr_name("slope");
  alpha->set_type(::onnx::AttributeProto::FLOAT);
  auto* sum = function->add_node();
  sum->set_op_type("Add");
  sum->add_input("t");
  sum->add_input("a");
  sum->add_output("b");
  return function;
}

::onnx::NodeProto* add_call(::onnx::ModelProto& model, const std::string& from,
                            const std::string& to) {
  auto* call = add_node(model, "Scaled", {from}, {to});
  call->set_domain("mine");
  return call;
}

::onnx::ModelProto model_with_domain() {
  auto model = empty_model();
  model.set_ir_version(8);
  auto* import = model.add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  return model;
}

core::Result<std::vector<Tensor>> run(const ::onnx::ModelProto& model) {
  COMMENSAL_ASSIGN(const auto graph, import_model(model));
  COMMENSAL_ASSIGN(auto session, Session::create(graph, {}));
  return session.run(
      std::vector{Tensor::of<float>({2, 3}, std::vector<float>{-1, 2, -3, 4, -5, 6})});
}

TEST(Functions, AreExpandedWhereTheyAreCalled) {
  auto model = model_with_domain();
  add_scaled(model);
  auto* slope = add_call(model, "x", "m")->add_attribute();
  slope->set_name("slope");
  slope->set_type(::onnx::AttributeProto::FLOAT);
  slope->set_f(1);
  add_call(model, "m", "y");  // the default slope, 0.01
  const auto made = run(model);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)[0].data<float>(), ElementsAre(-2.02f, 8, -6.06f, 16, -10.1f, 24));
  const auto graph = *import_model(model);
  EXPECT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->nodes[2].name, "Scaled:2/LeakyRelu_0");
}

TEST(Functions, ReachIntoTheGraphsInsideThem) {
  auto model = model_with_domain();
  auto* function = add_scaled(model);
  auto* branch = function->mutable_node(1);  // b = If(c) { t + a } else { t + a }
  branch->Clear();
  branch->set_op_type("If");
  branch->add_input("c");
  branch->add_output("b");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    auto* graph = attribute->mutable_g();
    graph->set_name(name);
    graph->add_output()->set_name("inner");
    auto* sum = graph->add_node();
    sum->set_op_type("Add");
    sum->add_input("t");
    sum->add_input("a");
    sum->add_output("inner");
  }
  function->add_input("c");
  add_initialiser(model, "truth", {}, ::onnx::TensorProto::BOOL)->add_int32_data(1);
  add_call(model, "x", "y")->add_input("truth");
  const auto made = run(model);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)[0].data<float>(), ElementsAre(-1.01f, 4, -3.03f, 8, -5.05f, 12));
}

TEST(Functions, MisuseIsNamed) {
  auto endless = model_with_domain();
  auto* function = add_scaled(endless);
  function->mutable_node(0)->set_op_type("Scaled");
  function->mutable_node(0)->set_domain("mine");
  add_call(endless, "x", "y");
  EXPECT_THAT(run(endless).error().message, HasSubstr("the function 'Scaled' calls itself"));

  auto twice = model_with_domain();
  add_scaled(twice);
  add_scaled(twice);
  EXPECT_THAT(run(twice).error().message, HasSubstr("defined twice"));

  auto other = model_with_domain();
  add_scaled(other)->mutable_opset_import(0)->set_version(9);
  EXPECT_THAT(run(other).error().message, HasSubstr("imports opset 9"));

  auto many = model_with_domain();
  add_scaled(many);
  add_call(many, "x", "y")->add_input("x");
  EXPECT_THAT(run(many).error().message, HasSubstr("2 inputs and 1 outputs"));
}

// Each function calls the one before ten times: a small file of very many nodes.
TEST(Functions, GrowthIsBounded) {
  auto model = model_with_domain();
  for (int level = 0; level < 8; ++level) {
    auto* function = model.add_functions();
    function->set_name(fmt::format("f{}", level));
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("v10");
    for (int i = 1; i <= 10; ++i) {
      auto* node = function->add_node();
      node->set_op_type(level == 0 ? "Relu" : fmt::format("f{}", level - 1));
      node->set_domain(level == 0 ? "" : "mine");
      node->add_input(i == 1 ? "a" : fmt::format("v{}", i - 1));
      node->add_output(fmt::format("v{}", i));
    }
  }
  add_node(model, "f7", {"x"}, {"y"})->set_domain("mine");
  const auto made = import_model(model);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_THAT(made.error().message, HasSubstr("more than"));
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
