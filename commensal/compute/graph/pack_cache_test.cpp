// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>

namespace commensal::graph {
namespace {

using tensor::Tensor;
using testing::GraphMaker;

/// Keeps nothing, and counts what would be packed.
class Counting final : public PackFiles {
 public:
  std::optional<File> open(const core::Digest&) override {
    ++packed;
    return std::nullopt;
  }
  void keep(const core::Digest&, std::span<const core::ByteView>) override {}
  int packed = 0;
};

Tensor drawn(const tensor::Shape& shape, std::uint64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    values.push_back(core::counter_symmetric_f32(seed, 0, static_cast<std::uint64_t>(i)));
  }
  return Tensor::of<float>(shape, values);
}

struct Model {
  std::shared_ptr<const Graph> graph;
  Tensor input;
  std::vector<ValueId> inner;  // what fusions remove
};

Model product() {
  GraphMaker maker;
  const ValueId x = maker.input({2, 600});
  const ValueId sum = maker.node("MatMul", {x, maker.constant(drawn({600, 500}, 1))});
  const ValueId biased = maker.node("Add", {sum, maker.constant(drawn({500}, 2))});
  maker.output(maker.node("Relu", {biased}));
  return {maker.finish(), drawn({2, 600}, 3), {sum, biased}};
}

/// `hands_on`: its bias comes out of an Identity, as exporters write what layers share.
Model picture(bool hands_on) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 256, 8, 8});
  kernels::Attributes same;
  same.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  ValueId bias = maker.floats({256});
  if (hands_on) bias = maker.node("Identity", {bias});
  const ValueId weights = maker.constant(drawn({256, 256, 3, 3}, 1));
  const ValueId sum = maker.node("Conv", {x, weights, bias}, same);
  const ValueId added = maker.node("Add", {sum, x});
  maker.output(maker.node("Relu", {added}));
  return {maker.finish(), drawn({1, 256, 8, 8}, 3), {sum, added}};
}

/// Without what fusions remove, and with each of it: weights are packed once for all of them.
void expect_packed_once(const Model& model) {
  const auto files = std::make_shared<Counting>();
  auto session = Session::create(model.graph, {.packs = std::make_shared<const PackFolder>(files)});
  ASSERT_TRUE(session);
  const std::span<const Tensor> inputs{&model.input, 1};
  ASSERT_TRUE(session->run(inputs));
  ASSERT_EQ(files->packed, 1);
  for (const ValueId id : model.inner) {
    auto more = std::make_shared<Graph>(*model.graph);
    more->outputs.push_back(id);
    Prepared other(more, *session->prepared());
    const auto made = session->run_other(other, inputs);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(files->packed, 1) << more->name_of(id);
    auto judge = Session::create(more, {.backend = Backend::kRef});
    const auto expected = *judge->run(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal((*made)[i].bytes(), expected[i].bytes())) << i;
    }
  }
  EXPECT_TRUE(session->run(inputs));
}

TEST(PackCache, AMatrixIsPackedOnceWhateverIsDoneToItsSums) { expect_packed_once(product()); }
TEST(PackCache, FiltersArePackedOnceWhateverIsDoneToTheirSums) {
  expect_packed_once(picture(false));
  expect_packed_once(picture(true));
}

// For each number of rows the constant behind Transpose is made and packed anew, and was kept.
TEST(PackCache, KeepsNothingOfPlansThatAreGone) {
  GraphMaker maker;
  const ValueId x = maker.input({-1, 64});
  kernels::Attributes swap;
  swap.set("perm", std::vector<std::int64_t>{1, 0});
  const ValueId w = maker.node("Transpose", {maker.constant(drawn({32, 64}, 1))}, swap);
  maker.output(maker.node("MatMul", {x, w}));
  const auto isas = kernels::available_isas();
  if (isas.empty()) GTEST_SKIP() << "no fast kernels here";
  Prepared prepared(maker.finish(), isas.back());
  for (std::int64_t rows = 1; rows <= 40; ++rows) {
    ASSERT_TRUE(prepared.planned({{tensor::DType::kFloat32, {rows, 64}}}));
    EXPECT_GE(prepared.packed_constants(), 1U);
    EXPECT_LE(prepared.packed_constants(), 9U) << rows;
  }
}

}  // namespace
}  // namespace commensal::graph
