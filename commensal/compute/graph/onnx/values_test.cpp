// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <commensal/compute/graph/session.hpp>
#include <functional>

/// Graphs inside graphs, sequences and optionals, through the importer and both back ends.
namespace commensal::graph::onnx {
namespace {

using onnx::testing::add_initialiser;
using onnx::testing::add_node;
using onnx::testing::empty_model;
using onnx::testing::import_model;
using tensor::Tensor;
using tensor::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Graph = ::onnx::GraphProto;

void add_to(Graph& graph, const std::string& op, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs) {
  auto* node = graph.add_node();
  node->set_op_type(op);
  for (const auto& name : inputs) node->add_input(name);
  for (const auto& name : outputs) node->add_output(name);
}

// A graph without types whose nodes `fill` adds.
Graph graph_of(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const std::function<void(Graph&)>& fill) {
  Graph graph;
  graph.set_name("inner");
  for (const auto& name : inputs) graph.add_input()->set_name(name);
  for (const auto& name : outputs) graph.add_output()->set_name(name);
  fill(graph);
  return graph;
}

void set_graph(::onnx::NodeProto* node, const std::string& name, const Graph& graph) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  *attribute->mutable_g() = graph;
}

void add_constant(::onnx::ModelProto& model, const std::string& name, std::int64_t value) {
  add_initialiser(model, name, {}, ::onnx::TensorProto::INT64)->add_int64_data(value);
}
void add_truth(::onnx::ModelProto& model, const std::string& name, bool value) {
  add_initialiser(model, name, {}, ::onnx::TensorProto::BOOL)->add_int32_data(value);
}

// The output may be of any size.
void free_output(::onnx::ModelProto& model) {
  auto* type = model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  for (auto& dim : *type->mutable_shape()->mutable_dim()) dim.clear_dim_value();
}

Tensor six_values() { return Tensor::of<float>({2, 3}, std::vector<float>{-1, 2, -3, 4, -5, 6}); }

core::Result<std::vector<Tensor>> run(const ::onnx::ModelProto& model,
                                      SessionOptions options = {}) {
  COMMENSAL_ASSIGN(const auto graph, import_model(model));
  COMMENSAL_ASSIGN(auto session, Session::create(graph, options));
  return session.run(std::vector{six_values()});
}

::onnx::ModelProto branch_model(bool condition) {
  auto model = empty_model();
  add_truth(model, "c", condition);
  add_node(model, "Neg", {"x"}, {"n"});
  auto* node = add_node(model, "If", {"c"}, {"y"});
  set_graph(node, "then_branch", graph_of({}, {"t"}, [](Graph& g) {
              add_to(g, "Add", {"x", "x"}, {"t"});
            }));
  set_graph(node, "else_branch",
            graph_of({}, {"e"}, [](Graph& g) { add_to(g, "Relu", {"n"}, {"e"}); }));
  return model;
}

TEST(Values, IfRunsOneBranchOnWhatItCaptures) {
  for (const Backend backend : {Backend::kRef, Backend::kCpu}) {
    const auto taken = run(branch_model(true), {.backend = backend});
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_THAT((*taken)[0].data<float>(), ElementsAre(-2, 4, -6, 8, -10, 12));
    const auto other = run(branch_model(false), {.backend = backend});
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_THAT((*other)[0].data<float>(), ElementsAre(1, 0, 3, 0, 5, 0));
  }
}

// y = x + x * trips, and a scan output of the iteration numbers.
::onnx::ModelProto loop_model(std::int64_t trips, const std::string& limit = "m") {
  auto model = empty_model();
  model.mutable_graph()->add_output()->set_name("seen");
  auto* seen = model.mutable_graph()->mutable_output(1)->mutable_type()->mutable_tensor_type();
  seen->set_elem_type(::onnx::TensorProto::INT64);
  seen->mutable_shape()->add_dim();
  add_constant(model, "m", trips);
  auto* node = add_node(model, "Loop", {limit, "", "x"}, {"y", "seen"});
  auto body = graph_of({"i", "go", "acc"}, {"go_on", "next", "row"}, [](Graph& g) {
    add_to(g, "Identity", {"go"}, {"go_on"});
    add_to(g, "Add", {"acc", "x"}, {"next"});
    add_to(g, "Identity", {"i"}, {"row"});
  });
  body.mutable_output(2)->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::INT64);
  body.mutable_output(2)->mutable_type()->mutable_tensor_type()->mutable_shape();
  set_graph(node, "body", body);
  return model;
}

TEST(Values, LoopMayCarryNothing) {
  auto model = loop_model(3);
  auto* loop = model.mutable_graph()->mutable_node(0);
  loop->set_input(2, "");
  loop->add_input("x");
  loop->clear_output();
  for (const char* name : {"none", "y", "seen"}) loop->add_output(name);
  auto* body = loop->mutable_attribute(0)->mutable_g();
  *body->add_input() = body->input(2);
  body->mutable_input(2)->set_name("nothing");
  *body->add_output() = body->output(2);
  *body->mutable_output(2) = body->output(1);
  body->mutable_output(1)->set_name("kept");
  add_to(*body, "Identity", {"nothing"}, {"kept"});
  const auto made = run(model);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)[0].data<float>(), ElementsAre(-4, 8, -12, 16, -20, 24));
}

TEST(Values, LoopCarriesStatesAndStacksRows) {
  const auto made = run(loop_model(3));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)[0].data<float>(), ElementsAre(-4, 8, -12, 16, -20, 24));
  EXPECT_THAT((*made)[1].data<std::int64_t>(), ElementsAre(0, 1, 2));
}

TEST(Values, ALoopThatNeverRunsHasNoRows) {
  const auto made = run(loop_model(0));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)[0].data<float>()[1], 2);
  EXPECT_EQ((*made)[1].type().text(), "int64[0]");
}

TEST(Values, ALoopWithoutEndIsStopped) {
  struct Impatient : core::Pacer {
    int left = 1000;
    bool pace(std::int64_t) override { return left-- > 0; }
  } pacer;
  auto session = *Session::create(*import_model(loop_model(0, "")), {});
  const auto made = session.run(std::vector{six_values()}, {.pacer = &pacer});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kUnavailable);
  EXPECT_THAT(made.error().message, HasSubstr("in body: "));
}

TEST(Values, TheNodesOfARunAreBounded) {
  const auto made = run(loop_model(1000), {.node_runs_max = 100});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kResourceExhausted);
}

// The same for everybody who runs the model: it is wrong, and no machine too small for it.
TEST(Values, TheStepsOfAScanAreBounded) {
  auto model = empty_model();
  free_output(model);
  add_initialiser(model, "length", {1}, ::onnx::TensorProto::INT64)
      ->add_int64_data(limits::kLoopStepsMax + 1);
  add_node(model, "ConstantOfShape", {"length"}, {"long"});
  auto* node = add_node(model, "Scan", {"long"}, {"y"});
  set_graph(node, "body",
            graph_of({"item"}, {"row"}, [](Graph& g) { add_to(g, "Neg", {"item"}, {"row"}); }));
  auto* count = node->add_attribute();
  count->set_name("num_scan_inputs");
  count->set_type(::onnx::AttributeProto::INT);
  count->set_i(1);
  const auto made = run(model);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kInvalidArgument) << made.error().message;
}

TEST(Values, ScanSumsAlongAnAxis) {
  auto model = empty_model();
  free_output(model);
  add_initialiser(model, "zero", {2})->add_float_data(0);
  model.mutable_graph()->mutable_initializer(0)->add_float_data(0);
  auto* node = add_node(model, "Scan", {"zero", "x"}, {"last", "y"});
  set_graph(node, "body", graph_of({"sum", "column"}, {"next", "row"}, [](Graph& g) {
              add_to(g, "Add", {"sum", "column"}, {"next"});
              add_to(g, "Identity", {"next"}, {"row"});
            }));
  const auto set = [node](const char* name, std::vector<std::int64_t> values) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute->add_ints(value);
  };
  auto* count = node->add_attribute();
  count->set_name("num_scan_inputs");
  count->set_type(::onnx::AttributeProto::INT);
  count->set_i(1);
  set("scan_input_axes", {1});
  set("scan_input_directions", {1});
  set("scan_output_axes", {1});
  const auto made = run(model);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)[0].type().text(), "float32[2,3]");
  EXPECT_THAT((*made)[0].data<float>(), ElementsAre(-3, -1, -2, 6, 1, 5));
}

TEST(Values, SequencesHoldWhatWasPutIn) {
  auto model = empty_model();
  free_output(model);
  add_constant(model, "first", 0);
  add_constant(model, "last", -1);
  add_node(model, "Neg", {"x"}, {"n"});
  add_node(model, "SequenceConstruct", {"x", "n"}, {"two"});
  add_node(model, "SequenceInsert", {"two", "n", "first"}, {"three"});
  add_node(model, "SequenceErase", {"three", "last"}, {"left"});
  add_node(model, "ConcatFromSequence", {"left"}, {"y"})->add_attribute()->set_name("axis");
  auto* axis = model.mutable_graph()->mutable_node(4)->mutable_attribute(0);
  axis->set_type(::onnx::AttributeProto::INT);
  axis->set_i(1);
  const auto made = run(model);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)[0].data<float>(), ElementsAre(1, -2, 3, -1, 2, -3, -4, 5, -6, 4, -5, 6));
}

TEST(Values, AnEmptyOptionalIsNothing) {
  auto model = empty_model(16);
  add_node(model, "Optional", {}, {"none"});
  add_node(model, "OptionalGetElement", {"none"}, {"y"});
  const auto made = run(model);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("the optional is empty"));
}

TEST(Values, MisuseIsNamed) {
  auto sequence = empty_model();
  add_node(sequence, "SequenceConstruct", {"x"}, {"s"});
  add_node(sequence, "Relu", {"s"}, {"y"})->set_name("on_a_sequence");
  const auto made = run(sequence);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "node 'on_a_sequence' (Relu): input 0 must be a tensor, not a sequence of 1");
  auto mixed = empty_model();
  add_constant(mixed, "one", 1);
  add_node(mixed, "SequenceConstruct", {"x", "one"}, {"s"});
  add_node(mixed, "SequenceAt", {"s", "one"}, {"y"});
  EXPECT_THAT(run(mixed).error().message, HasSubstr("a sequence of float32 takes no int64"));
  auto beyond = empty_model();
  add_constant(beyond, "one", 1);
  add_node(beyond, "SequenceConstruct", {"x"}, {"s"});
  add_node(beyond, "SequenceAt", {"s", "one"}, {"y"});
  EXPECT_THAT(run(beyond).error().message, HasSubstr("position 1 is outside of the sequence's 1"));
}

TEST(Values, GraphsInGraphsAreBounded) {
  auto model = empty_model();
  add_truth(model, "c", true);
  Graph inner = graph_of({}, {"y0"}, [](Graph& g) { add_to(g, "Neg", {"x"}, {"y0"}); });
  for (int depth = 1; depth < 12; ++depth) {
    const std::string name = fmt::format("y{}", depth);
    inner = graph_of({}, {name}, [&](Graph& g) {
      add_to(g, "If", {"c"}, {name});
      set_graph(g.mutable_node(0), "then_branch", inner);
      set_graph(g.mutable_node(0), "else_branch", inner);
    });
    if (depth == 3) {
      auto shallow = model;
      auto* node = add_node(shallow, "If", {"c"}, {"y"});
      set_graph(node, "then_branch", inner);
      set_graph(node, "else_branch", inner);
      const auto made = run(shallow);
      ASSERT_TRUE(made) << made.error().message;
      EXPECT_EQ((*made)[0].data<float>()[0], 1);
    }
    if (depth > 9) break;
  }
  auto* node = add_node(model, "If", {"c"}, {"y"});
  set_graph(node, "then_branch", inner);
  set_graph(node, "else_branch", inner);
  const auto made = run(model);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("deeper than"));
}

TEST(Values, ASubgraphSeesOnlyWhatWasMadeBefore) {
  auto model = empty_model();
  add_truth(model, "c", true);
  auto* node = add_node(model, "If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    set_graph(node, name, graph_of({}, {"t"}, [](Graph& g) {
                add_to(g, "Add", {"late", "x"}, {"t"});
              }));
  }
  add_node(model, "Neg", {"x"}, {"late"});
  EXPECT_THAT(run(model).error().message,
              HasSubstr("uses 'late', which a graph around it defines only later"));
}

// One value would be an input of the middle graph and made in it too: what was planned for the one
// wrote beyond the other.
TEST(Values, ANameIsNotMadeAgainBehindWhereAnInnerGraphTookIt) {
  auto model = empty_model();
  add_truth(model, "c", true);
  const auto choose = [](::onnx::NodeProto* node, const Graph& graph) {
    node->set_op_type("If");
    for (const char* name : {"then_branch", "else_branch"}) set_graph(node, name, graph);
  };
  const Graph inner = graph_of({}, {"p"}, [](Graph& g) { add_to(g, "Identity", {"x"}, {"p"}); });
  const Graph middle = graph_of({}, {"x"}, [&](Graph& g) {
    add_to(g, "If", {"c"}, {"t"});
    choose(g.mutable_node(0), inner);
    add_to(g, "Neg", {"t"}, {"x"});
  });
  choose(add_node(model, "If", {"c"}, {"y"}), middle);
  EXPECT_THAT(run(model).error().message,
              HasSubstr("uses 'x', which a graph around it defines only later"));
}

}  // namespace
}  // namespace commensal::graph::onnx
