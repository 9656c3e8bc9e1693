// SPDX-License-Identifier: Apache-2.0
// Requests run together get the answers that they get alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/graph/joint_runs.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>

namespace commensal::graph {
namespace {

using namespace testing;
using tensor::Tensor;
using Request = JointRuns::Request;

/// Counts the nodes that run.
class Counter final : public core::Pacer {
 public:
  bool pace(std::int64_t) override { return ++nodes > 0; }
  int nodes = 0;
};

Tensor floats(std::int64_t rows, float first) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < 3 * rows; ++i) {
    values.push_back(first + 0.37f * static_cast<float>(i));
  }
  return Tensor::of<float>({rows, 3}, values);
}

std::vector<Request> requests(const std::vector<std::int64_t>& rows) {
  std::vector<Request> made;
  for (const std::int64_t count : rows) {
    made.push_back({floats(count, static_cast<float>(made.size()))});
  }
  return made;
}

/// x[N,3] times a matrix, or the sum over all rows beside it.
std::shared_ptr<const Graph> graph_of(bool mixes_rows) {
  GraphMaker maker;
  const ValueId x = maker.input({-1, 3});
  const ValueId y = maker.node("MatMul", {x, maker.constant(floats(3, -1))});
  maker.output(maker.node("Exp", {y}));
  if (mixes_rows) maker.output(maker.node("ReduceSum", {y, maker.integers({0})}));
  return maker.finish();
}

/// The rows of a table that are asked for.
std::shared_ptr<const Graph> table() {
  GraphMaker maker;
  const ValueId at = maker.input({-1}, tensor::DType::kInt64);
  maker.output(maker.node("Gather", {maker.constant(floats(4, 1)), at}));
  return maker.finish();
}

/// How many nodes ran; each answer is held against that of a run of its own.
int nodes_run(const std::shared_ptr<const Graph>& graph, const std::vector<Request>& asked) {
  Counter counter;
  Session session = *Session::create(graph, {.pacer = &counter});
  Session alone = *Session::create(graph, {});
  JointRuns joint(session);
  const auto answers = joint.run(asked);
  EXPECT_EQ(answers.size(), asked.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto expected = alone.run(asked[i]);
    EXPECT_EQ(answers[i].has_value(), expected.has_value()) << i;
    if (!answers[i] || !expected) continue;
    EXPECT_EQ(answers[i]->size(), expected->size());
    for (std::size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ((*answers[i])[o].type(), (*expected)[o].type()) << i;
      EXPECT_TRUE(std::ranges::equal((*answers[i])[o].bytes(), (*expected)[o].bytes())) << i;
    }
  }
  return counter.nodes;
}

TEST(JointRuns, RunOnceWhereRowsStayApart) {
  const int one = nodes_run(graph_of(false), requests({1}));
  EXPECT_GT(one, 0);
  EXPECT_EQ(nodes_run(graph_of(false), requests({1, 1, 1, 1, 1})), one);
  EXPECT_EQ(nodes_run(graph_of(false), requests({2, 2, 2})), one);
}

TEST(JointRuns, RunAloneWhereRowsMeet) {
  const int one = nodes_run(graph_of(true), requests({1}));
  EXPECT_EQ(nodes_run(graph_of(true), requests({1, 1, 1})), 3 * one);
}

TEST(JointRuns, NeighboursMayHaveAnyNumbersOfRows) {
  const int one = nodes_run(graph_of(false), requests({1}));
  EXPECT_EQ(nodes_run(graph_of(false), requests({1, 1, 2, 7, 1})), one);
  const int mixed = nodes_run(graph_of(true), requests({1}));
  EXPECT_EQ(nodes_run(graph_of(true), requests({1, 3, 2})), 3 * mixed);
}

/// exp(x[N,M]).
std::shared_ptr<const Graph> of_any_width() {
  GraphMaker maker;
  maker.output(maker.node("Exp", {maker.input({-1, -1})}));
  return maker.finish();
}

// No rule says what padding would change.
TEST(JointRuns, OnlyNeighboursOfTheSameTypesAreJoined) {
  const int one = nodes_run(of_any_width(), requests({1}));
  std::vector<Request> asked = requests({1, 2, 1, 3});
  asked[2] = {Tensor::of<float>({1, 2}, std::vector<float>{1, 2})};
  EXPECT_EQ(nodes_run(of_any_width(), asked), 3 * one);
}

TEST(JointRuns, AnErrorIsOfTheRequestThatHasIt) {
  std::vector<Request> asked;
  for (const std::int64_t row : {3, 4, 0}) {
    asked.push_back({Tensor::of<std::int64_t>({1}, std::span(&row, 1))});
  }
  Session session = *Session::create(table(), {});
  JointRuns joint(session);
  const auto answers = joint.run(asked);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0]);
  EXPECT_FALSE(answers[1]);
  EXPECT_TRUE(answers[2]);
  nodes_run(table(), asked);
}

TEST(JointRuns, NothingIsAsked) { EXPECT_EQ(nodes_run(graph_of(false), {}), 0); }

}  // namespace
}  // namespace commensal::graph
