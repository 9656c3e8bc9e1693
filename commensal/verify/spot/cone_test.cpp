// SPDX-License-Identifier: Apache-2.0
// Elements from their cones have the bits of a full run: random graphs, networks that are wide,
// and the networks of ./test.
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/random_graph.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/spot/cone.hpp>
#include <commensal/verify/spot/sheet.hpp>
#include <cstdlib>
#include <set>

namespace commensal::spot {
namespace {

using graph::ValueId;
using kernels::testing::Blend;
using kernels::testing::case_count;
using kernels::testing::Draw;
using kernels::testing::kRecipes;
using kernels::testing::random_of;
using kernels::testing::random_shape;
using tensor::Tensor;

std::vector<std::int64_t> some_places(Draw& draw, std::int64_t elements, std::int64_t count) {
  std::vector<std::int64_t> made;
  for (std::int64_t i = 0; i < count && elements > 0; ++i) {
    made.push_back(draw.number(0, elements - 1));
  }
  return made;
}

/// Of one output.
core::Result<std::pair<ConeValues, ConeWork>> cone_of(const graph::Graph& graph,
                                                      std::span<const Tensor> inputs,
                                                      std::size_t output,
                                                      std::span<const std::int64_t> places,
                                                      const ConeOptions& options = {}) {
  const Asked asked{output, places};
  COMMENSAL_ASSIGN(Cones made, cone_values(graph, inputs, {&asked, 1}, options));
  return std::pair{std::move(made.outputs[0]), made.work};
}

void expect_bits(const ConeValues& got, const Tensor& full, std::span<const std::int64_t> places) {
  ASSERT_EQ(got.type, full.type());
  ASSERT_EQ(got.values.size(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(got.values[i].bits, tensor::element_bits(full, places[i])) << "element " << places[i];
  }
}

TEST(EqualityCones, OfRandomGraphs) {
  std::uint64_t in_part = 0, in_full = 0;
  const int cases = case_count(120);
  for (int seed = 0; seed < cases; ++seed) {
    graph::testing::RandomGraph made(static_cast<std::uint64_t>(seed), false);
    const auto graph = made.finish();
    const auto expected = made.expected();
    Draw draw(static_cast<std::uint64_t>(seed), 5);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      SCOPED_TRACE(fmt::format("seed {}, output {}", seed, graph->name_of(graph->outputs[o])));
      const auto places = some_places(draw, expected[o].elements(), draw.number(1, 4));
      ConeOptions options;
      options.share_max = std::array{0.1, 0.25, 1.0}[static_cast<std::size_t>(seed) % 3];
      const auto got = cone_of(*graph, made.inputs(), o, places, options);
      ASSERT_TRUE(got) << got.error().message;
      expect_bits(got->first, expected[o], places);
      if (HasFailure()) return;
      in_part += got->second.nodes_in_part;
      in_full += got->second.nodes_in_full;
    }
  }
  EXPECT_GE(in_part, static_cast<std::uint64_t>(10 * cases));
  EXPECT_GE(in_full, static_cast<std::uint64_t>(cases));
}

/// What an element reads, and of which type it is, follows from types and the inputs that steer.
TEST(EqualityCones, NothingElseSteers) {
  std::set<std::string> operators;
  const int cases = case_count(6000);
  for (int seed = 0; seed < cases; ++seed) {
    Draw draw(static_cast<std::uint64_t>(seed), 6);
    const tensor::DType kinds[] = {tensor::DType::kFloat32, tensor::DType::kFloat32,
                                   tensor::DType::kInt64, tensor::DType::kUint8};
    const auto dtype = draw.of(kinds);
    const auto shape = random_shape(draw, static_cast<int>(draw.number(1, 4)), 300);
    const Tensor x = random_of(draw, dtype, shape, Blend::kPlain);
    auto sample = draw.of(kRecipes).make(draw, x);
    if (!sample) continue;
    const auto op = kernels::find_operator("", sample->name, sample->opset);
    if (!op || (*op)->judge->reads == nullptr) continue;
    std::vector<const Tensor*> full, hollow;
    std::vector<Sheet> sheets;
    sheets.reserve(sample->inputs.size());
    for (std::size_t i = 0; i < sample->inputs.size(); ++i) {
      const Tensor& input = sample->inputs[i];
      full.push_back(input.defined() ? &input : nullptr);
      hollow.push_back(full.back());
      if (!input.defined() || input.dtype() == tensor::DType::kString) continue;
      if (steers(**op, static_cast<int>(i))) continue;
      sheets.push_back(*Sheet::of(input.type()));
      hollow.back() = &sheets.back().tensor();
    }
    kernels::Call call{sample->opset, &sample->attributes, full, sample->outputs, {}, nullptr};
    kernels::Call blind{sample->opset, &sample->attributes, hollow, sample->outputs, {}, nullptr};
    auto types = (*op)->judge->infer(call);
    if (!types || std::ranges::any_of(*types, [](const tensor::TensorType& type) {
          return type.dtype == tensor::DType::kUndefined;
        })) {
      continue;
    }
    auto blind_types = (*op)->judge->infer(blind);
    SCOPED_TRACE(fmt::format("{}, seed {}", sample->name, seed));
    ASSERT_TRUE(blind_types) << blind_types.error().message;
    ASSERT_EQ(*types, *blind_types);
    call.outputs = *types;
    blind.outputs = *types;
    for (int o = 0; o < sample->outputs; ++o) {
      const auto elements = (*types)[static_cast<std::size_t>(o)].shape.elements();
      for (const std::int64_t place : some_places(draw, elements, 3)) {
        std::vector<kernels::ElementRef> read, read_blind;
        (*op)->judge->reads(call, o, place, read);
        (*op)->judge->reads(blind, o, place, read_blind);
        ASSERT_EQ(read, read_blind);
      }
    }
    operators.insert(sample->name);
  }
  EXPECT_GE(operators.size(), 100U);
}

/// Three convolutions, one by the Winograd clause, over a picture: an element needs a patch of it.
struct Wide {
  explicit Wide(std::int64_t side) {
    graph::testing::GraphMaker maker;
    Draw draw(9, 9);
    const auto floats = [&](std::initializer_list<std::int64_t> dims) {
      return random_of(draw, tensor::DType::kFloat32, dims, Blend::kPlain);
    };
    inputs.push_back(floats({1, 3, side, side}));
    const auto same = [] {
      kernels::Attributes made;
      made.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
      return made;
    };
    auto x = maker.input({1, 3, side, side});
    x = maker.node("Conv", {x, maker.constant(floats({16, 3, 3, 3}))}, same());
    x = maker.node("Relu", {x});
    x = maker.node("Conv", {x, maker.constant(floats({16, 16, 3, 3}))}, same());
    x = maker.node("Tanh", {x});
    x = maker.node("Conv", {x, maker.constant(floats({2, 16, 3, 3}))}, same());
    maker.output(x);
    graph = maker.finish();
  }
  std::shared_ptr<const graph::Graph> graph;
  std::vector<Tensor> inputs;
};

TEST(EqualityCones, OfAWideNetworkTakeAFractionOfIt) {
  const Wide wide(96);
  auto session = graph::Session::create(wide.graph, {});
  ASSERT_TRUE(session);
  const auto full = session->run(wide.inputs);
  ASSERT_TRUE(full);
  Draw draw(1, 1);
  const auto places = some_places(draw, (*full)[0].elements(), 12);
  const auto got = cone_of(*wide.graph, wide.inputs, 0, places);
  ASSERT_TRUE(got) << got.error().message;
  expect_bits(got->first, (*full)[0], places);
  const ConeWork& work = got->second;
  EXPECT_EQ(work.nodes_in_full, 0U);
  EXPECT_EQ(work.nodes_in_part, 5U);
  // A tile of 4 x 4 reads 6 x 6, which lie in at most four tiles, which read 14 x 14 of the first.
  EXPECT_LE(work.elements, 12U * (1 + 2 * 16 * 6 * 6 + 2 * 16 * 14 * 14));
  const std::int64_t side = 96 * 96;
  EXPECT_EQ(work.ops_of_all, side * (16 * 2 * 27 + 16 + 16 * 2 * 144 + 16 + 2 * 2 * 144));
  EXPECT_LT(work.ops, work.ops_of_all);
  EXPECT_GT(work.ops, static_cast<std::int64_t>(work.elements));

  const auto all = cone_of(*wide.graph, wide.inputs, 0, places, {.share_max = 0});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->first.values, got->first.values);
  EXPECT_EQ(all->second.elements, 0U);
  EXPECT_EQ(all->second.nodes_in_full, 5U);
  EXPECT_EQ(all->second.ops, work.ops_of_all);
}

/// In blocks, where there are enough places: of any strides, pads, groups, and by the Winograd
/// clause.
TEST(EqualityCones, OfConvolutions) {
  const int cases = case_count(60);
  for (int seed = 0; seed < cases; ++seed) {
    Draw draw(static_cast<std::uint64_t>(seed), 7);
    const std::int64_t group = draw.number(1, 3) == 3 ? 4 : 1;
    const std::int64_t channels = group * draw.number(1, 20 / group);
    const std::int64_t outputs = group * draw.number(1, 3);
    const std::int64_t kernel = draw.number(1, 2) == 1 ? 3 : draw.number(1, 6);
    kernels::Attributes attributes;
    const bool is_plain = draw.number(1, 2) == 1;
    const std::int64_t stride = is_plain ? 1 : draw.number(1, 3);
    const std::int64_t dilation = is_plain ? 1 : draw.number(1, 3);
    std::vector<std::int64_t> pads;
    for (int i = 0; i < 4; ++i) pads.push_back(draw.number(0, kernel));
    attributes.set("strides", std::vector<std::int64_t>{stride, draw.number(1, stride)});
    attributes.set("dilations", std::vector<std::int64_t>{dilation, draw.number(1, dilation)});
    attributes.set("group", group);
    if (draw.number(1, 4) == 1) {
      attributes.set("auto_pad", std::string("SAME_UPPER"));
    } else {
      attributes.set("pads", pads);
    }
    const auto floats = [&](std::initializer_list<std::int64_t> dims) {
      return random_of(draw, tensor::DType::kFloat32, dims, Blend::kPlain);
    };
    graph::testing::GraphMaker maker;
    const std::int64_t high = draw.number(40, 70), wide = draw.number(40, 70);
    auto x = maker.input({2, channels, high, wide});
    Tensor weights = floats({outputs, channels / group, kernel, kernel});
    const bool has_bias = draw.number(1, 2) == 1;
    std::vector<ValueId> inputs = {maker.node("Relu", {x}), maker.constant(weights)};
    if (has_bias) inputs.push_back(maker.constant(floats({outputs})));
    maker.output(maker.node("Conv", inputs, attributes));
    const auto graph = maker.finish();
    const std::vector<Tensor> given = {floats({2, channels, high, wide})};
    auto session = graph::Session::create(graph, {});
    const auto full = session->run(given);
    ASSERT_TRUE(full) << full.error().message;
    const auto places = some_places(draw, (*full)[0].elements(), draw.number(1, 6));
    SCOPED_TRACE(fmt::format("seed {}: {} of {}", seed, (*full)[0].type().text(), kernel));
    const auto got = cone_of(*graph, given, 0, places);
    ASSERT_TRUE(got) << got.error().message;
    expect_bits(got->first, (*full)[0], places);
    if (HasFailure()) return;
  }
}

/// Taps in the padding are no steps: what a block has there would be NaN.
TEST(EqualityCones, OfConvolutionsWithInfiniteWeights) {
  graph::testing::GraphMaker maker;
  kernels::Attributes same;
  same.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  maker.output(maker.node("Conv",
                          {maker.input({1, 1, 40, 40}),
                           maker.floats({1, 1, 3, 3}, std::numeric_limits<float>::infinity())},
                          same));
  const auto graph = maker.finish();
  const std::vector<float> ones(1600, 1);
  const std::vector<Tensor> given = {Tensor::of<float>({1, 1, 40, 40}, ones)};
  auto session = graph::Session::create(graph, {});
  const auto full = session->run(given);
  const std::vector<std::int64_t> places = {0, 39, 900, 1599};
  expect_bits(cone_of(*graph, given, 0, places)->first, (*full)[0], places);
}

TEST(EqualityCones, OfSqueezeNet) {
  const char* folder = std::getenv("COMMENSAL_MODELS");
  const auto graph = folder == nullptr
                         ? core::Result<std::shared_ptr<const graph::Graph>>(nullptr)
                         : graph::onnx::import_file(core::Path(folder) / "squeezenet.onnx");
  if (!graph || *graph == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS has no squeezenet.onnx";
  // Its last convolution in the middle: one place of 13 x 13.
  graph::Graph cut = **graph;
  const auto last = std::ranges::find(cut.nodes, "GlobalAveragePool",
                                      [](const graph::Node& node) { return node.op->name; });
  ASSERT_NE(last, cut.nodes.end());
  cut.outputs = {last->inputs[0]};
  cut.nodes.erase(last, cut.nodes.end());
  Draw draw(2, 2);
  const std::vector<Tensor> inputs = {
      random_of(draw, tensor::DType::kFloat32, {1, 3, 224, 224}, Blend::kPlain)};
  auto session = graph::Session::create(std::make_shared<const graph::Graph>(cut), {});
  ASSERT_TRUE(session);
  const auto full = session->run(inputs);
  ASSERT_TRUE(full) << full.error().message;
  const std::vector<std::int64_t> places = {5 * 169, 169 * 1000 - 1};
  const auto got = cone_of(cut, inputs, 0, places);
  ASSERT_TRUE(got) << got.error().message;
  expect_bits(got->first, (*full)[0], places);
  EXPECT_GE(got->second.nodes_in_part, 5U);
}

// The fault: a bias that another initialiser stands for (torchvision's ResNet-50 has such) was no
// constant of the part that runs in full, which took it for absent: an honest answer was wrong.
TEST(EqualityCones, OfFoldedConstants) {
  graph::testing::GraphMaker maker;
  const auto bias = maker.node("Identity", {maker.floats({3}, 2)});
  const auto x = maker.input({4, 5});
  const auto y = maker.node("Gemm", {x, maker.floats({5, 3}), bias});
  maker.output(maker.node("Neg", {y}));
  const auto made = maker.finish();
  Draw draw(3, 3);
  const std::vector<Tensor> inputs = {
      random_of(draw, tensor::DType::kFloat32, {4, 5}, Blend::kPlain)};
  auto session = graph::Session::create(made, {});
  const auto full = session->run(inputs);
  ASSERT_TRUE(full) << full.error().message;
  const std::vector<std::int64_t> places = {0, 5, 11};
  for (const double share : {0.0, 0.25, 1.0}) {
    const auto got = cone_of(*made, inputs, 0, places, {.share_max = share});
    ASSERT_TRUE(got) << got.error().message;
    expect_bits(got->first, (*full)[0], places);
  }
}

// Likewise of what was run in full before, for what its elements steer.
TEST(EqualityCones, OfWhatIsRunInFullTwice) {
  graph::testing::GraphMaker maker;
  const auto x = maker.input({4, 5});
  kernels::Attributes to_int, to_float;
  to_int.set("to", std::int64_t{7});  // int64
  to_float.set("to", std::int64_t{1});
  const auto large = maker.node("Abs", {maker.node("ReduceMax", {x})});
  const auto place = maker.node("Min", {maker.node("Cast", {large}, to_int), maker.integers({1})});
  const auto scaled = maker.node("Mul", {x, maker.node("Cast", {place}, to_float)});
  // A row of `scaled` is more than is asked of what lies behind it, so that it is run in full.
  maker.output(maker.node("Neg", {maker.node("Gather", {maker.node("Softmax", {scaled}), place})}));
  const auto made = maker.finish();
  Draw draw(4, 4);
  const std::vector<Tensor> inputs = {
      random_of(draw, tensor::DType::kFloat32, {4, 5}, Blend::kPlain)};
  auto session = graph::Session::create(made, {});
  const auto full = session->run(inputs);
  ASSERT_TRUE(full) << full.error().message;
  const std::vector<std::int64_t> places = {2};
  const auto got = cone_of(*made, inputs, 0, places, {.share_max = 0.22});
  ASSERT_TRUE(got) << got.error().message;
  expect_bits(got->first, (*full)[0], places);
  EXPECT_GE(got->second.nodes_in_full, 6U);
}

TEST(Cones, RefuseByName) {
  const Wide wide(8);
  const auto refusal = [&](std::vector<Tensor> inputs, std::size_t output, std::int64_t index) {
    const auto got = cone_of(*wide.graph, inputs, output, std::vector{index});
    return got ? std::string() : got.error().message;
  };
  EXPECT_EQ(refusal(wide.inputs, 0, 127), "");
  EXPECT_EQ(refusal(wide.inputs, 0, 128), "element 128 of float32[1,2,8,8]");
  EXPECT_EQ(refusal(wide.inputs, 0, -1), "element -1 of float32[1,2,8,8]");
  EXPECT_EQ(refusal(wide.inputs, 1, 0), "there is no such output");
  EXPECT_NE(refusal({}, 0, 0), "");
}

}  // namespace
}  // namespace commensal::spot
