// SPDX-License-Identifier: Apache-2.0
// A guest must be able to stop in the midst of a node: kernels yield between pieces.
#include <gtest/gtest.h>

#include <atomic>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>

namespace commensal::graph {
namespace {

using namespace testing;

struct Counter final : core::Pacer {
  std::atomic<int> yields = 0;
  bool pace(std::int64_t) override { return true; }
  bool yield() override {
    ++yields;
    return true;
  }
};

int yields_of(const std::shared_ptr<const Graph>& graph, const tensor::Shape& shape, int threads) {
  Counter counter;
  SessionOptions options;
  options.threads = threads;
  options.pacer = &counter;
  auto session = *Session::create(graph, options);
  const std::vector<float> ones(static_cast<std::size_t>(shape.elements()), 1.0f);
  EXPECT_TRUE(session.run(std::vector{tensor::Tensor::of<float>(shape, ones)}));
  return counter.yields;
}

// 64 MiB of weights: at most 16 MiB a piece.
TEST(Pacing, ADenseLayerYields) {
  GraphMaker maker;
  const ValueId input = maker.input({1, 8192});
  maker.output(maker.node("MatMul", {input, maker.floats({8192, 2048})}));
  for (const int threads : {1, 2}) EXPECT_GE(yields_of(maker.finish(), {1, 8192}, threads), 4);
}

// Each of the 16 or 36 points of a Winograd tile is a piece.
TEST(Pacing, AConvolutionYields) {
  GraphMaker maker;
  const ValueId input = maker.input({1, 128, 14, 14});
  maker.output(maker.node("Conv", {input, maker.floats({128, 128, 3, 3})}));
  for (const int threads : {1, 2}) {
    EXPECT_GE(yields_of(maker.finish(), {1, 128, 14, 14}, threads), 16);
  }
}

// The pacer of a call takes the place of the session's.
TEST(Pacing, IsOfTheCallIfItHasOne) {
  GraphMaker maker;
  maker.output(maker.node("Relu", {maker.input({4})}));
  Counter of_session;
  Counter of_call;
  SessionOptions options;
  options.pacer = &of_session;
  auto session = *Session::create(maker.finish(), options);
  const auto input = std::vector{tensor::Tensor::of<float>({4}, std::vector<float>(4, 1.0f))};
  EXPECT_TRUE(session.run(input, {.pacer = &of_call}));
  EXPECT_EQ(of_session.yields, 0);
  EXPECT_GT(of_call.yields, 0);
}

}  // namespace
}  // namespace commensal::graph
