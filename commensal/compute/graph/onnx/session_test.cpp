// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/graph/lifetimes.hpp>
#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>

namespace commensal::graph::onnx {
namespace {

using core::ErrorCode;
using onnx::testing::add_node;
using onnx::testing::empty_model;
using onnx::testing::import_model;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x is float32[2,3]; y = relu(x) + relu(relu(x)).
std::shared_ptr<const Graph> small_graph() {
  auto model = empty_model();
  add_node(model, "Relu", {"x"}, {"a"})->set_name("first");
  add_node(model, "Relu", {"a"}, {"b"})->set_name("second");
  add_node(model, "Add", {"a", "b"}, {"y"})->set_name("sum");
  return *import_model(model);
}

Tensor input(std::vector<float> values = {-1, 2, -3, 4, -5, 6}) {
  return Tensor::of<float>({2, 3}, values);
}

Session session_of(std::shared_ptr<const Graph> graph, SessionOptions options = {}) {
  return *Session::create(std::move(graph), options);
}

TEST(Session, RunsNodesInOrder) {
  for (const Backend backend : {Backend::kRef, Backend::kCpu}) {
    Session session = session_of(small_graph(), {.backend = backend});
    const auto outputs = session.run(std::vector{input()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_THAT((*outputs)[0].data<float>(), ElementsAre(0, 4, 0, 8, 0, 12));
  }
}

TEST(Session, OutputsAreNotRewrittenByTheNextRun) {
  Session session = session_of(small_graph());
  const auto first = session.run(std::vector{input()});
  const auto second = session.run(std::vector{input({1, 1, 1, 1, 1, 1})});
  ASSERT_TRUE(first && second);
  EXPECT_THAT((*first)[0].data<float>(), ElementsAre(0, 4, 0, 8, 0, 12));
  EXPECT_THAT((*second)[0].data<float>(), ElementsAre(2, 2, 2, 2, 2, 2));
}

TEST(Session, ReleasesValuesAfterTheirLastUse) {
  const auto graph = small_graph();
  const auto released = last_uses(*graph);
  std::vector<std::vector<std::string>> names;
  for (const auto& ids : released) {
    auto& row = names.emplace_back();
    for (const ValueId id : ids) row.push_back(graph->name_of(id));
  }
  EXPECT_THAT(names, ElementsAre(ElementsAre("x"), ElementsAre(), ElementsAre("a", "b")));
}

TEST(Session, ALongChainFitsASmallMemory) {
  auto model = empty_model();
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(0)->set_dim_value(1000);
  model.mutable_graph()->mutable_output(0)->clear_type();
  model.mutable_graph()->mutable_output(0)->mutable_type()->CopyFrom(model.graph().input(0).type());
  std::string last = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string next = i == 99 ? "y" : fmt::format("v{}", i);
    add_node(model, "Softmax", {last}, {next});
    last = next;
  }
  const auto graph = *import_model(model);
  const Tensor x = Tensor::of<float>({1000, 3}, std::vector<float>(3000, 1.0f));
  // One value takes 12 kB; two are alive at a time.
  Session enough = session_of(graph, {.memory_bytes_max = 40'000});
  EXPECT_TRUE(enough.run(std::vector{x}));
  Session short_of = session_of(graph, {.memory_bytes_max = 16'000});
  const auto refused = short_of.run(std::vector{x});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("node 'Softmax_1' (Softmax)"));
}

TEST(Session, SaysWhatInputsItExpects) {
  Session session = session_of(small_graph());
  const auto none = session.run({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "0 inputs, expected 1: x float32[2,3]");
  const Tensor flat = Tensor::of<float>({6}, std::vector<float>(6));
  const auto wrong = session.run(std::vector{flat});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "input 'x' is float32[6], expected float32[2,3]");
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidArgument);
}

TEST(Session, NamesTheNodeThatFails) {
  auto model = empty_model();
  auto* w = onnx::testing::add_initialiser(model, "w", {5});
  for (int i = 0; i < 5; ++i) w->add_float_data(0);
  add_node(model, "Add", {"x", "w"}, {"y"})->set_name("misfit");
  Session session = session_of(*import_model(model));
  const auto refused = session.run(std::vector{input()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("node 'misfit' (Add): "));
}

class Recorder : public Tracer, public core::Pacer {
 public:
  void before_node(const Node& node, const kernels::Call&) override {
    seen.push_back("before " + node.name);
  }
  void after_node(const Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    EXPECT_EQ(call.outputs[0], outputs[0].type());
    seen.push_back("after " + node.name);
  }
  bool pace(std::int64_t work_ops) override {
    EXPECT_EQ(work_ops, 6);
    seen.push_back("pace");
    return --allowed >= 0;
  }
  int allowed = 1000;
  std::vector<std::string> seen;
};

TEST(Session, TracerAndPacerSeeEveryNode) {
  Session session = session_of(small_graph());
  Recorder recorder;
  ASSERT_TRUE(session.run(std::vector{input()}, {.tracer = &recorder, .pacer = &recorder}));
  EXPECT_THAT(recorder.seen,
              ElementsAre("pace", "before first", "after first", "pace", "before second",
                          "after second", "pace", "before sum", "after sum"));
}

TEST(Session, StopsWhenThePacerSaysSo) {
  Session session = session_of(small_graph());
  Recorder recorder;
  recorder.allowed = 1;
  const auto stopped = session.run(std::vector{input()}, {.pacer = &recorder});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(recorder.seen.size(), 2u);
}

TEST(Session, EndsWhereItIsCancelled) {
  Session session = session_of(small_graph());
  std::stop_source source;
  EXPECT_TRUE(session.run(std::vector{input()}, {.cancel = source.get_token()}));
  source.request_stop();
  const auto stopped = session.run(std::vector{input()}, {.cancel = source.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(session.run(std::vector{input()}));  // of that run only
}

TEST(Session, EndsWhereItsBudgetIsUsedUp) {
  Session session = session_of(small_graph());  // three nodes of six operations
  EXPECT_TRUE(session.run(std::vector{input()}, {.ops_max = 18}));
  const auto stopped = session.run(std::vector{input()}, {.ops_max = 17});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kOverBudget);
  EXPECT_THAT(stopped.error().message, HasSubstr("the compute budget of 17 operations is used up"));
}

// 2^63 multiply-adds: no integer holds twice that, so it must neither count as few nor be folded.
TEST(Session, WorkBeyondAllIntegersIsOverBudget) {
  graph::testing::GraphMaker maker;
  const auto x = maker.input({1});
  kernels::Attributes equation;
  equation.set("equation", std::string("a,b,c->c"));
  const auto floats = [&](int log2) { return maker.floats({std::int64_t{1} << log2}, 0); };
  const auto sum = maker.node("Einsum", {floats(20), floats(20), floats(22)}, equation);
  maker.output(maker.node("Add", {sum, x}));
  Session session = session_of(maker.finish());
  const auto stopped = session.run(std::vector{tensor::Tensor::of<float>({1}, std::vector{1.0f})},
                                   {.ops_max = std::int64_t{1} << 46});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kOverBudget);
}

TEST(Session, RefusesOptionsThatCannotBe) {
  EXPECT_EQ(Session::create(small_graph(), {.threads = 0}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(Session::create(small_graph(), {.memory_bytes_max = 0}).error().code,
            ErrorCode::kInvalidArgument);
  for (const kernels::Isa isa : {kernels::Isa::kAvx2, kernels::Isa::kAvx512, kernels::Isa::kNeon}) {
    const auto isas = kernels::available_isas();
    const bool there = std::find(isas.begin(), isas.end(), isa) != isas.end();
    const auto made = Session::create(small_graph(), {.isa = isa});
    EXPECT_EQ(made.has_value(), there);
    if (!there) {
      EXPECT_THAT(made.error().message, HasSubstr("available:"));
    }
  }
}

// Their types are known ahead, what they look at is not.
TEST(Session, LooksAtIndicesInEachRun) {
  for (const char* op : {"GatherND", "ScatterND", "ScatterElements"}) {
    SCOPED_TRACE(op);
    const bool scatters = std::string_view(op).starts_with("Scatter");
    const bool by_tuple = std::string_view(op).ends_with("ND");
    graph::testing::GraphMaker maker;
    const ValueId x = maker.input({3}), indices = maker.input({3, 1}, tensor::DType::kInt64);
    const ValueId at = by_tuple ? indices : maker.node("Reshape", {indices, maker.integers({3})});
    std::vector<ValueId> inputs = {maker.node("Neg", {x}), at};
    if (scatters) inputs.push_back(x);
    maker.output(maker.node("Neg", {maker.node(op, inputs)}));
    auto session = Session::create(maker.finish(), {});
    ASSERT_TRUE(session.has_value()) << session.error().message;
    const std::vector<float> three = {1, 2, 3};
    const auto run = [&](const std::vector<std::int64_t>& where) {
      const std::vector<Tensor> fed = {Tensor::of<float>({3}, three),
                                       Tensor::of<std::int64_t>({3, 1}, where)};
      return session->run(fed);
    };
    for (const auto& where : {std::vector<std::int64_t>{0, 1, 2}, {2, 0, 1}, {-1, -1, 0}}) {
      const auto made = run(where);
      ASSERT_TRUE(made.has_value()) << made.error().message;
      std::vector<float> expected = three;
      for (std::size_t i = 0; i < where.size(); ++i) {
        const auto place = static_cast<std::size_t>((where[i] + 3) % 3);
        if (scatters) expected[place] = -three[i];
        if (!scatters) expected[i] = three[place];
      }
      EXPECT_TRUE(std::ranges::equal((*made)[0].data<float>(), expected));
    }
    const auto refused = run({0, 3, 1});
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("outside of a dimension of 3"));
    EXPECT_TRUE(run({0, 1, 2}).has_value());
  }
}

}  // namespace
}  // namespace commensal::graph::onnx
