// SPDX-License-Identifier: Apache-2.0
// What runs image by image gives the same bits, stops when it is told to, and is shown whole.
#include <atomic>
#include <commensal/compute/graph/optimise/testing/fusion_cases.hpp>

namespace commensal::graph::optimise {
namespace {

using namespace testing;
using namespace graph::testing;
using kernels::Attributes;
using tensor::Shape;
using tensor::Tensor;

constexpr std::int64_t kSide = 72;

/// A beginning as networks have it: pictures large, weights small; then a product with large ones.
class Beginning {
 public:
  explicit Beginning(std::int64_t batch) {
    const ValueId x = maker_.input({batch, 3, kSide, kSide});
    const ValueId stem = conv(x, 3, 32, 3);
    const ValueId apart = conv(stem, 32, 32, 3, 32);
    const ValueId gate =
        maker_.node("Sigmoid", {conv(maker_.node("GlobalAveragePool", {apart}), 32, 32, 1)});
    const ValueId gated = maker_.node("Mul", {apart, gate});
    const ValueId sum = maker_.node("Add", {stem, conv(gated, 32, 32, 1)});
    const ValueId joined = maker_.node("Concat", {sum, apart}, with("axis", std::int64_t{1}));
    Attributes pool = with("kernel_shape", Ints{2, 2});
    pool.set("strides", Ints{2, 2});
    const ValueId small = maker_.node("MaxPool", {joined}, std::move(pool));
    // Larger than what is left of a picture: a batch reads them once.
    const ValueId many = conv(maker_.node("GlobalAveragePool", {small}), 64, 4096, 1);
    maker_.output(maker_.node("Flatten", {conv(many, 4096, 16, 1)}));
    maker_.output(joined);
  }
  const GraphMaker& maker() const { return maker_; }

 private:
  ValueId conv(ValueId x, std::int64_t in, std::int64_t out, std::int64_t side,
               std::int64_t group = 1) {
    Attributes attributes = with("group", group);
    attributes.set("pads", Ints(4, side / 2));
    const Shape shape{out, in / group, side, side};
    return maker_.node(
        "Conv",
        {x, maker_.constant(kernels::testing::random_of(draw_, tensor::DType::kFloat32, shape))},
        std::move(attributes));
  }

  GraphMaker maker_;
  kernels::testing::Draw draw_{11, 3};
};

TEST(EqualityImages, OneByOneAndAllTogether) {
  EXPECT_EQ(expect_same(Beginning(1).maker(), Role::kByImage), 0);
  for (const std::int64_t batch : {2, 3, 5}) {
    SCOPED_TRACE(batch);
    EXPECT_EQ(expect_same(Beginning(batch).maker(), Role::kByImage), 1);
  }
}

TEST(Images, LeaveLargeWeightsToTheBatch) {
  const auto graph = Beginning(4).maker().finish();
  const auto made = optimised(
      *graph, std::vector{tensor::TensorType{tensor::DType::kFloat32, {4, 3, kSide, kSide}}});
  ASSERT_NE(made, nullptr);
  ASSERT_TRUE(is(made->nodes[0], Role::kByImage));
  const Graph& body = *made->nodes[0].subgraphs[0].graph;
  EXPECT_GE(body.nodes.size(), 7u);
  const auto largest = [](const Graph& of) {
    std::int64_t most = 0;
    for (const auto& [id, weights] : of.initialisers) most = std::max(most, weights.elements());
    return most;
  };
  EXPECT_EQ(largest(body), 32 * 32);
  EXPECT_EQ(largest(*made), 64 * 4096);
}

/// Stops after some nodes; counts those that run at a time.
class Stopper final : public core::Pacer {
 public:
  explicit Stopper(int after) : left_(after) {}
  bool pace(std::int64_t) override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "never from several threads at once";
    const bool goes_on = left_-- > 0;
    EXPECT_GE(left_, -1) << "who was told to stop asks no more";
    inside_.fetch_sub(1);
    return goes_on;
  }

 private:
  std::atomic<int> inside_ = 0;
  int left_;
};

TEST(Images, StopWhenThePacerSaysSo) {
  const auto graph = Beginning(4).maker().finish();
  auto session = Session::create(graph, {.threads = 3});
  ASSERT_TRUE(session);
  const std::vector<Tensor> inputs = {Tensor::of<float>(
      {4, 3, kSide, kSide}, std::vector<float>(static_cast<std::size_t>(12 * kSide * kSide)))};
  for (const int after : {0, 1, 7, 20}) {
    Stopper stopper(after);
    const auto stopped = session->run(inputs, {.pacer = &stopper});
    ASSERT_FALSE(stopped) << after;
    EXPECT_EQ(stopped.error().code, core::ErrorCode::kUnavailable);
  }
  Stopper never(1000);
  EXPECT_TRUE(session->run(inputs, {.pacer = &never}));
}

/// Counts the convolutions of the optimised graph.
class Counter final : public Tracer {
 public:
  bool wants_plain_nodes() const override { return false; }
  void before_node(const Node& node, const kernels::Call&) override {
    if (is(node, Role::kBlockedConv)) ++convolutions;
  }
  int convolutions = 0;
};

TEST(Images, AreSeenByATracerOneAfterTheOther) {
  const auto graph = Beginning(3).maker().finish();
  auto session = Session::create(graph, {.threads = 2});
  ASSERT_TRUE(session);
  const std::vector<Tensor> inputs = {Tensor::of<float>(
      {3, 3, kSide, kSide}, std::vector<float>(static_cast<std::size_t>(9 * kSide * kSide)))};
  Counter counter;
  ASSERT_TRUE(session->run(inputs, {.tracer = &counter}));
  EXPECT_EQ(counter.convolutions, 3 * 4 + 2);
}

}  // namespace
}  // namespace commensal::graph::optimise
