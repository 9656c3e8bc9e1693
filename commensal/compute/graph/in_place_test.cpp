// SPDX-License-Identifier: Apache-2.0
// Concatenations whose inputs are made where they are wanted.
#include <commensal/compute/graph/optimise/testing/fusion_cases.hpp>
#include <commensal/compute/graph/tracer.hpp>

namespace commensal::graph {
namespace {

using namespace testing;
using kernels::testing::Draw;
using optimise::testing::bytes_of;
using optimise::testing::with;
using tensor::Tensor;

kernels::Attributes along(std::int64_t axis) { return with("axis", axis); }

/// Counts the Concats that copied nothing.
struct InPlaceCounter final : Tracer {
  int in_place = 0, all = 0;
  bool wants_plain_nodes() const override { return false; }
  void before_node(const Node&, const kernels::Call&) override {}
  void after_node(const Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    if (node.op->name != "Concat") return;
    ++all;
    if (outputs[0].place() == call.in(0).place()) ++in_place;
  }
};

Tensor random_like(const Declared& declared, std::uint64_t seed) {
  Draw draw(seed, 5);
  return kernels::testing::random_of(draw, declared.dtype, *tensor::Shape::of(declared.dims));
}

/// What ref/ gives is what comes out, run after run; returns how many Concats were in place.
int expect_right(const GraphMaker& maker) {
  const auto graph = maker.finish();
  auto session = Session::create(graph, {});
  EXPECT_TRUE(session.has_value());
  InPlaceCounter counter;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph->inputs) {
      inputs.push_back(random_like(graph->values[static_cast<std::size_t>(id)].declared, seed));
    }
    const auto expected = bytes_of(graph, inputs, {.backend = Backend::kRef});
    counter = {};
    std::vector<std::uint8_t> made;
    const auto outputs = session->run(inputs, {.tracer = &counter});
    EXPECT_TRUE(outputs.has_value());
    for (const Tensor& output : *outputs) {
      made.insert(made.end(), output.bytes().begin(), output.bytes().end());
    }
    EXPECT_EQ(made, expected);
  }
  return counter.in_place;
}

TEST(EqualityInPlace, AsInSqueezeNet) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 32, 5, 5});
  const ValueId a = maker.node("Relu", {x}), b = maker.node("Neg", {x});
  maker.output(maker.node("Sqrt", {maker.node("Concat", {a, b}, along(1))}));
  EXPECT_EQ(expect_right(maker), 1);
}

TEST(EqualityInPlace, AsInDenseNetAllShareOneBeginning) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 32, 4, 4});
  std::vector<ValueId> features = {maker.node("Relu", {x})};
  for (int layer = 0; layer < 4; ++layer) {
    features.push_back(maker.node("Neg", {maker.node("Concat", features, along(1))}));
  }
  maker.output(maker.node("Concat", features, along(1)));
  EXPECT_EQ(expect_right(maker), 5);
}

TEST(EqualityInPlace, OneInsideAnother) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 16, 6});
  const ValueId a = maker.node("Relu", {x}), b = maker.node("Neg", {x});
  const ValueId inner = maker.node("Concat", {a, b}, along(1));
  const ValueId c = maker.node("Abs", {inner});
  maker.output(maker.node("Concat", {c, inner}, along(1)));
  maker.output(inner);
  EXPECT_EQ(expect_right(maker), 2);
}

TEST(EqualityInPlace, ValuesThatTwoWantElsewhereAreCopiedForOne) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 16, 6});
  const ValueId a = maker.node("Relu", {x}), b = maker.node("Neg", {x}), c = maker.node("Abs", {x});
  maker.output(maker.node("Concat", {a, b}, along(1)));
  maker.output(maker.node("Concat", {c, b}, along(1)));
  maker.output(maker.node("Concat", {b, a}, along(1)));
  maker.output(maker.node("Concat", {a, a}, along(1)));
  EXPECT_EQ(expect_right(maker), 1);
}

TEST(EqualityInPlace, NotWhereRowsAlternateNorWhatComesFromOutside) {
  GraphMaker maker;
  const ValueId x = maker.input({2, 16, 4});
  const ValueId a = maker.node("Relu", {x}), b = maker.node("Neg", {x});
  maker.output(maker.node("Concat", {a, b}, along(1)));
  maker.output(maker.node("Concat", {x, a}, along(0)));
  EXPECT_EQ(expect_right(maker), 0);
}

TEST(EqualityInPlace, RandomNetsOfConcats) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed, 11);
    GraphMaker maker;
    const std::int64_t width = draw.number(0, 3) == 0 ? 5 : 16;  // of lines, or not
    std::vector<ValueId> values = {maker.input({2, width}), maker.input({3, width})};
    for (std::int64_t i = draw.number(4, 14); i > 0; --i) {
      const auto any = [&] {
        return values[static_cast<std::size_t>(
            draw.number(0, static_cast<std::int64_t>(values.size()) - 1))];
      };
      if (draw.number(0, 1) == 0) {
        values.push_back(maker.node(draw.number(0, 1) == 0 ? "Relu" : "Neg", {any()}));
        continue;
      }
      std::vector<ValueId> parts;
      const std::int64_t first = draw.number(0, static_cast<std::int64_t>(values.size()) - 1);
      const std::int64_t run = draw.number(1, 4);
      for (std::int64_t k = 0; k < run; ++k) {
        const auto next = static_cast<std::size_t>(first + k);
        const bool follows = next < values.size() && draw.number(0, 3) != 0;
        parts.push_back(follows ? values[next] : any());
      }
      values.push_back(maker.node("Concat", parts, along(0)));
    }
    for (int k = 0; k < 2; ++k) {
      maker.output(values[static_cast<std::size_t>(
          draw.number(2, static_cast<std::int64_t>(values.size()) - 1))]);
    }
    maker.output(values.back());
    expect_right(maker);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace commensal::graph
