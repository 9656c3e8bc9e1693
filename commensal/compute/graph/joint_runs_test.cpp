// SPDX-License-Identifier: Apache-2.0
// Requests run together get the answers that they get alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/graph/joint_runs.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <utility>

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

/// Whether each was answered; nodes that ran.
struct Budgeted {
  std::vector<bool> answered;
  int nodes = 0;
  friend bool operator==(const Budgeted&, const Budgeted&) = default;
};

/// exp(x[N,3]) is three operations a row.
constexpr std::int64_t kOpsARow = 3;

// The fault: joined, requests had their budgets together, and one used what the others did not.
TEST(JointRuns, EachKeepsToItsBudget) {
  GraphMaker maker;
  maker.output(maker.node("Exp", {maker.input({-1, 3})}));
  Counter counter;
  Session session = *Session::create(maker.finish(), {.pacer = &counter});
  JointRuns joint(session);
  const auto run = [&](const std::vector<std::int64_t>& rows, std::int64_t rows_max) {
    counter.nodes = 0;
    Budgeted made;
    for (const auto& answer : joint.run(requests(rows), {.ops_max = kOpsARow * rows_max})) {
      made.answered.push_back(answer.has_value());
      if (answer) continue;
      EXPECT_EQ(answer.error().code, core::ErrorCode::kOverBudget);
    }
    made.nodes = counter.nodes;
    return made;
  };
  const std::vector<bool> not_the_last = {true, true, false};
  // Together they are over one budget, and nothing is known yet: once more, each alone.
  EXPECT_EQ(run({1, 1, 40}, 20), (Budgeted{not_the_last, 2}));
  // What is too large alone is left out.
  EXPECT_EQ(run({1, 1, 40}, 20), (Budgeted{not_the_last, 1}));
  EXPECT_EQ(run({1, 40, 1}, 20), (Budgeted{{true, false, true}, 1}));
  // Where each is known to keep its own, they have as many budgets as they are.
  const std::vector<bool> all = {true, true, true};
  EXPECT_EQ(run({9, 9, 9}, 10), (Budgeted{all, 3}));
  EXPECT_EQ(run({9, 9, 9}, 10), (Budgeted{all, 1}));
  EXPECT_EQ(run({9, 1, 9}, 10), (Budgeted{all, 1}));
  EXPECT_EQ(run({9, 9, 9}, 8), (Budgeted{{false, false, false}, 0}));
}

/// Says no at once, or never.
class Host final : public core::Pacer {
 public:
  bool pace(std::int64_t) override {
    ++nodes;
    return goes_on;
  }
  bool yield() override { return goes_on; }
  bool goes_on = true;
  int nodes = 0;
};

/// x[N,3] and the sum of products that take seconds by ref/, and are the same for all requests.
std::shared_ptr<const Graph> with_constant_products() {
  GraphMaker maker;
  const ValueId side = maker.floats({512, 512}, 0.001f);
  ValueId product = side;
  for (int i = 0; i < 3; ++i) product = maker.node("MatMul", {product, side});
  maker.output(maker.node("Add", {maker.input({-1, 3}), maker.node("ReduceSum", {product})}));
  return maker.finish();
}

// The fault: whether requests may be joined was found out however long that took.
TEST(JointRuns, TheHostNeedNotWaitUntilItIsKnownWhetherRowsMix) {
  Host host;
  Session session = *Session::create(with_constant_products(), {.pacer = &host});
  JointRuns joint(session);
  host.goes_on = false;
  const std::int64_t before_ns = core::thread_cpu_ns();
  for (const auto& answer : joint.run(requests({1, 1}))) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, core::ErrorCode::kUnavailable);
  }
  EXPECT_LT(core::thread_cpu_ns() - before_ns, 100'000'000);
  std::stop_source stop;
  stop.request_stop();
  host.goes_on = true, host.nodes = 0;
  for (const auto& answer : joint.run(requests({1, 1}), {.cancel = stop.get_token()})) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, core::ErrorCode::kCancelled);
  }
  EXPECT_LT(core::thread_cpu_ns() - before_ns, 200'000'000);
  EXPECT_EQ(host.nodes, 0);
  for (const auto& answer : joint.run(requests({1, 1}))) EXPECT_TRUE(answer);
  const int together = std::exchange(host.nodes, 0);
  EXPECT_TRUE(session.run(requests({1})[0]));
  EXPECT_EQ(together, host.nodes) << "what was not found out was remembered";
}

TEST(JointRuns, NothingIsAsked) { EXPECT_EQ(nodes_run(graph_of(false), {}), 0); }

}  // namespace
}  // namespace commensal::graph
