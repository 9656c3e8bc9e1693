// SPDX-License-Identifier: Apache-2.0
// That the bench measures what it says: every operator, on calls that run.
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/bench/operators/small_nodes.hpp>
#include <set>

namespace commensal::lab::bench::operators {
namespace {

core::Result<std::shared_ptr<const graph::Graph>> imported(const Subject& subject) {
  const auto kept = std::make_shared<const core::Bytes>(subject.model);
  return graph::onnx::import_bytes(*kept, kept);
}

TEST(OperatorCases, EveryOperatorHasARowOrAReason) {
  std::set<std::string_view> named;
  for (const Pick& pick : picks({})) named.insert(pick.op);
  for (const NotMeasured& row : not_measured()) {
    for (const std::string_view op : names_in(row.ops)) {
      EXPECT_TRUE(named.insert(op).second) << op << " is measured, or named twice";
    }
  }
  for (const kernels::Operator& row : kernels::model_operators()) {
    EXPECT_TRUE(named.contains(row.name)) << row.domain << " " << row.name;
  }
}

TEST(OperatorCases, WhoHasNoRowOfItsOwnIsToldWhy) {
  ASSERT_NE(why_not_measured("If"), nullptr);
  EXPECT_EQ(why_not_measured("If"), why_not_measured("Scan"));
  EXPECT_EQ(why_not_measured("Relu"), nullptr);
  EXPECT_EQ(why_not_measured("Iff"), nullptr);
}

TEST(OperatorCases, EveryRowIsAModelThatRuns) {
  for (const Pick& pick : picks({})) {
    SCOPED_TRACE(fmt::format("{} {} {}", pick.op, pick.row->inputs, pick.row->attributes));
    if (pick.row->inputs.find("1024,1024") != std::string_view::npos) continue;  // 64 MiB
    const auto subject = subject_of(*pick.row, pick.op);
    ASSERT_TRUE(subject) << subject.error().message;
    const auto graph = imported(*subject);
    ASSERT_TRUE(graph) << graph.error().message;
    auto session = graph::Session::create(*graph, {});
    ASSERT_TRUE(session) << session.error().message;
    const auto made = session->run(subject->feeds);
    EXPECT_TRUE(made) << made.error().message;
  }
}

TEST(OperatorCases, ARowThatCannotBeReadIsRefused) {
  for (const char* inputs : {"f32[1,x]", "f99[1]", "f32", "f32[9,3]#2"}) {
    EXPECT_FALSE(subject_of({"Relu", inputs}, "Relu")) << inputs;
  }
}

TEST(OperatorCases, TheQuickPartHasEachOperatorOnce) {
  std::set<std::string_view> all, once;
  for (const Pick& pick : picks({})) all.insert(pick.op);
  for (const Pick& pick : firsts(picks({}))) EXPECT_TRUE(once.insert(pick.op).second) << pick.op;
  EXPECT_EQ(once, all);
}

TEST(OperatorCases, WholeNumbersFromOneAndLiteralsOfNoDimension) {
  const auto subject = subject_of({"Div", "i64[1000] i64[1000]>3"}, "Div");
  ASSERT_TRUE(subject) << subject.error().message;
  std::set<std::int64_t> drawn;
  for (const std::int64_t one : subject->feeds[1].data<std::int64_t>()) drawn.insert(one);
  EXPECT_EQ(drawn, (std::set<std::int64_t>{1, 2, 3}));
  for (const auto& [text, rank] : {std::pair("f32[4] i64{2}.", 0), std::pair("f32[4] i64{2}", 1)}) {
    const auto gathered = subject_of({"Gather", text}, "Gather");
    ASSERT_TRUE(gathered) << gathered.error().message;
    const auto graph = imported(*gathered);
    ASSERT_TRUE(graph) << graph.error().message;
    auto session = graph::Session::create(*graph, {});
    ASSERT_TRUE(session) << session.error().message;
    const auto made = session->run(gathered->feeds);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)[0].shape().rank(), rank);
  }
}

TEST(OperatorCases, BoxesAreNoneTurnedOver) {
  const auto subject =
      subject_of({"MaxRoiPool", "f32[1,4,9,9] f32[50,5]#6", "pooled_shape=[2,2]"}, "MaxRoiPool");
  ASSERT_TRUE(subject) << subject.error().message;
  const auto boxes = subject->feeds[1].data<float>();
  for (std::size_t i = 0; i < boxes.size(); i += 5) {
    EXPECT_EQ(boxes[i], 0);
    EXPECT_LE(boxes[i + 1], boxes[i + 3]);
    EXPECT_LE(boxes[i + 2], boxes[i + 4]);
    EXPECT_LT(boxes[i + 3], 6);
  }
}

TEST(SmallNodes, EveryOperatorThatIsMeasuredHasOneOrAReason) {
  std::set<std::string_view> measured, small;
  for (const Pick& pick : picks({})) measured.insert(pick.op);
  for (const Case& row : small_nodes()) {
    for (const std::string_view op : names_in(row.ops)) small.insert(op);
  }
  for (const NotMeasured& row : not_chained()) {
    for (const std::string_view op : names_in(row.ops)) {
      EXPECT_TRUE(small.insert(op).second) << op << " is chained, or named twice";
    }
  }
  for (const std::string_view op : measured) EXPECT_TRUE(small.contains(op)) << op << ": none";
  for (const std::string_view op : small) EXPECT_TRUE(measured.contains(op)) << op << ": no row";
}

/// Counts the nodes that run, of the graph that is run.
class Counter final : public graph::Tracer {
 public:
  bool wants_plain_nodes() const override { return false; }
  void after_node(const graph::Node&, const kernels::Call&,
                  std::span<const tensor::Tensor>) override {
    ++nodes_;
  }
  int nodes() const { return nodes_; }

 private:
  int nodes_ = 0;
};

TEST(SmallNodes, NoneIsFoldedOrFused) {
  constexpr int kCopies = 5;
  for (const Case& row : small_nodes()) {
    for (const std::string_view op : names_in(row.ops)) {
      SCOPED_TRACE(fmt::format("{} {} {}", op, row.inputs, row.attributes));
      const auto subject = subject_of(row, op, kCopies);
      ASSERT_TRUE(subject) << subject.error().message;
      const auto graph = imported(*subject);
      ASSERT_TRUE(graph) << graph.error().message;
      auto session = graph::Session::create(*graph, {});
      ASSERT_TRUE(session) << session.error().message;
      Counter counter;
      const auto made = session->run(subject->feeds, {.tracer = &counter});
      ASSERT_TRUE(made) << made.error().message;
      EXPECT_GE(counter.nodes(), kCopies);
    }
  }
}

TEST(OperatorCases, CopiesAreOneBehindTheOther) {
  const auto subject = subject_of({"Softmax", "f32[1,8]"}, "Softmax", 3);
  ASSERT_TRUE(subject);
  const auto graph = imported(*subject);
  ASSERT_TRUE(graph);
  EXPECT_EQ((*graph)->nodes.size(), 3u);
}

}  // namespace
}  // namespace commensal::lab::bench::operators
