// SPDX-License-Identifier: Apache-2.0
// The liar of the tests itself: it changes answers, never the model.
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/verify/dispute/contest.hpp>

namespace commensal::dispute {
namespace {

using arbiter::Side;
using graph::testing::GraphMaker;
using tensor::Tensor;

constexpr std::size_t kHandedOn = 0, kEmpty = 1, kSum = 2;  // nodes, as they are made below

class Lies : public ::testing::Test {
 protected:
  Lies() {
    const std::vector<float> weight = {1, 2, 3, 4};
    const std::vector<float> nothing;
    GraphMaker maker;
    const auto x = maker.input({4});
    const auto handed_on = maker.node("Identity", {maker.constant(Tensor::of<float>({4}, weight))});
    const auto empty = maker.node("Identity", {maker.constant(Tensor::of<float>({0}, nothing))});
    maker.output(maker.node("Add", {x, handed_on}));
    maker.output(empty);
    graph_ = maker.finish();
    session_.emplace(*graph::Session::create(graph_, {}));
    inputs_ = {Tensor::of<float>({4}, weight)};
  }
  core::Digest root(const std::optional<Lie>& lie) {
    const Rerun honest = rerun_on(*session_, inputs_);
    Case one(graph_, inputs_);
    kernels::ThreadPool threads(1);
    const auto player = Player::prepare(
        one.hand(Side::kProvider, lie ? lying(*graph_, *lie, honest) : honest), threads);
    EXPECT_TRUE(player) << player.error().message;
    return player ? player->output_root() : core::Digest{};
  }

  std::shared_ptr<const graph::Graph> graph_;
  std::optional<graph::Session> session_;
  std::vector<Tensor> inputs_;
};

TEST_F(Lies, ChangeWhatANodeComputes) {
  ASSERT_EQ(graph_->nodes[kSum].op->name, "Add");
  EXPECT_NE(root(Lie{.node = kSum, .element = 7}), root({}));
}

TEST_F(Lies, ChangeNoWeightThatIsHandedOnAndNothingWhereNothingIs) {
  const core::Digest truth = root({});
  root(Lie{.node = kHandedOn, .element = 1});
  EXPECT_EQ(root({}), truth);
  EXPECT_EQ(root(Lie{.node = kEmpty, .element = 3}), truth);
}

}  // namespace
}  // namespace commensal::dispute
