// SPDX-License-Identifier: Apache-2.0
// Graphs of some hundred bytes whose attributes, or constants, ask for more than their elements do:
// each of them once ran for minutes where nobody could stop it, took gigabytes, or crashed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <functional>
#include <limits>
#include <utility>

namespace commensal::graph {
namespace {

using namespace testing;
using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Outputs = core::Result<std::vector<Tensor>>;

kernels::Attributes with(std::initializer_list<std::pair<const char*, kernels::Attribute>> named) {
  kernels::Attributes made;
  for (const auto& [name, value] : named) made.set(name, value);
  return made;
}

Outputs run(const GraphMaker& maker, const std::vector<Tensor>& inputs, Backend backend,
            core::Pacer* pacer = nullptr) {
  SessionOptions options;
  options.backend = backend;
  COMMENSAL_ASSIGN(Session session, Session::create(maker.finish(), options));
  return session.run(inputs, {.pacer = pacer});
}

Tensor ones(const tensor::Shape& shape) {
  return Tensor::of<float>(shape, std::vector(static_cast<std::size_t>(shape.elements()), 1.0f));
}

void expect_same(const GraphMaker& maker, const std::vector<Tensor>& inputs) {
  const Outputs judged = run(maker, inputs, Backend::kRef),
                fast = run(maker, inputs, Backend::kCpu);
  ASSERT_TRUE(judged && fast) << (judged ? fast : judged).error().message;
  ASSERT_EQ(judged->size(), fast->size());
  for (std::size_t i = 0; i < judged->size(); ++i) {
    EXPECT_TRUE(std::ranges::equal((*judged)[i].bytes(), (*fast)[i].bytes()));
  }
}

constexpr double kGapMsMax = 300;  // minutes, once; sanitizers and other programs have their share

/// How long it was not asked, at most; says no the `last`-th time.
class Watch final : public core::Pacer {
 public:
  explicit Watch(std::int64_t last) : left_(last), before_ns_(core::thread_cpu_ns()) {}
  bool pace(std::int64_t) override { return yield(); }
  bool yield() override {
    look();
    return --left_ > 0;
  }
  double worst_ms() {
    look();
    return static_cast<double>(worst_ns_) * 1e-6;
  }

 private:
  void look() {
    const std::int64_t now_ns = core::thread_cpu_ns();
    worst_ns_ = std::max(worst_ns_, now_ns - std::exchange(before_ns_, now_ns));
  }

  std::int64_t left_, before_ns_, worst_ns_ = 0;
};

/// It would take minutes by ref/, and ends soon after it is told to.
void expect_stoppable(const GraphMaker& maker, const std::vector<Tensor>& inputs,
                      Backend backend = Backend::kRef) {
  Watch watch(200);
  const Outputs ended = run(maker, inputs, backend, &watch);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, core::ErrorCode::kUnavailable) << ended.error().message;
  EXPECT_LE(watch.worst_ms(), kGapMsMax);
}

/// To its end, without a long silence.
void expect_paced(const GraphMaker& maker, const std::vector<Tensor>& inputs, Backend backend) {
  Watch watch(std::numeric_limits<std::int64_t>::max());
  const Outputs ended = run(maker, inputs, backend, &watch);
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_LE(watch.worst_ms(), kGapMsMax);
}

GraphMaker pooled(std::string_view op, std::int64_t side, const Ints& picture, const Ints& pads) {
  GraphMaker maker;
  const ValueId x = maker.input(picture);
  const ValueId y = maker.node("Conv", {x, maker.floats({16, picture[1], 1, 1}, 0.0625f)});
  maker.output(maker.node(op, {y}, with({{"kernel_shape", Ints{side, side}}, {"pads", pads}})));
  return maker;
}

// A tap's number beyond 2^31 fell out of the sum's lanes, and wrote over the stack.
TEST(SmallGraphs, PoolMoreTapsThanAnIntCounts) {
  for (const std::int64_t side : {30'000, 46'341, 46'351, 65'537}) {
    for (const char* op : {"AveragePool", "MaxPool"}) {
      const std::int64_t pad = side - 1;
      expect_same(pooled(op, side, {1, 16, 2, 2}, {pad, pad, 0, 0}), {ones({1, 16, 2, 2})});
      expect_same(pooled(op, side, {1, 16, 2, 2}, {0, pad, pad, 0}), {ones({1, 16, 2, 2})});
    }
  }
}

// Where a row of depth lies was divided by the channels of a group.
TEST(SmallGraphs, ConvsWithoutChannelsAreTheirBias) {
  for (const Ints& of : {Ints{0, 2}, Ints{4, 1}, Ints{4, 2}, Ints{32, 1}}) {
    GraphMaker maker;
    const ValueId x = maker.input({1, 0, 5, 5}), bias = maker.floats({of[0]}, 0.5f);
    const ValueId y = maker.node("Conv", {x, maker.floats({of[0], 0, 3, 3}), bias},
                                 with({{"group", of[1]}, {"pads", Ints(4, 1)}}));
    maker.output(maker.node("GlobalAveragePool", {maker.node("Relu", {y})}));
    expect_same(maker, {ones({1, 0, 5, 5})});
  }
}

TEST(SmallGraphs, PoolsOfManyTapsAreInPieces) {
  for (const char* op : {"AveragePool", "MaxPool"}) {
    const GraphMaker blocked = pooled(op, 300, {1, 16, 400, 400}, Ints(4, 0));
    expect_paced(blocked, {ones({1, 16, 400, 400})}, Backend::kCpu);
    GraphMaker plain;
    const ValueId x = plain.input({1, 1, 1024, 1024});
    plain.output(plain.node(op, {x}, with({{"kernel_shape", Ints{64, 64}}})));
    expect_paced(plain, {ones({1, 1, 1024, 1024})}, Backend::kCpu);
    expect_stoppable(plain, {ones({1, 1, 1024, 1024})});
  }
}

// Rows of places were walked though no column of them is inside.
TEST(SmallGraphs, WindowsBesideThePictureTakeNoTime) {
  constexpr std::int64_t kTall = 65'536;
  for (const char* op : {"AveragePool", "LpPool", "MaxPool"}) {
    GraphMaker maker;
    const ValueId x = maker.input({1, 1, kTall, 1});
    maker.output(maker.node(
        op, {x}, with({{"kernel_shape", Ints{kTall, 1}}, {"pads", Ints{0, 16'384, 0, 0}}})));
    for (const Backend backend : {Backend::kRef, Backend::kCpu}) {
      expect_paced(maker, {ones({1, 1, kTall, 1})}, backend);
    }
  }
  GraphMaker maker;
  const ValueId x = maker.input({1, 1, kTall / 8, 1});
  maker.output(maker.node("ConvTranspose", {x, maker.floats({1, 1, kTall / 8, 1})},
                          with({{"strides", Ints{1, 8'193}},
                                {"output_padding", Ints{0, 8'192}},
                                {"pads", Ints{kTall / 8 - 1, 0, kTall / 8 - 1, 0}}})));
  expect_paced(maker, {ones({1, 1, kTall / 8, 1})}, Backend::kRef);
}

// All places of the window were walked, elements or not.
TEST(SmallGraphs, PoolsWalkElementsOnly) {
  constexpr std::int64_t kWide = std::int64_t{1} << 30;
  for (const char* op : {"AveragePool", "LpPool", "MaxPool"}) {
    GraphMaker maker;
    const ValueId x = maker.input({1, 1, 2});
    maker.output(
        maker.node(op, {x}, with({{"kernel_shape", Ints{kWide}}, {"pads", Ints{kWide - 1, 0}}})));
    expect_same(maker, {ones({1, 1, 2})});
  }
}

TEST(SmallGraphs, BlocksAndTransposedWindowsWalkWhatCoversOnly) {
  constexpr std::int64_t kWide = std::int64_t{1} << 20;
  GraphMaker image;
  const ValueId x = image.input({1, kWide, 1});
  image.output(image.node("Col2Im", {x, image.integers({kWide}), image.integers({kWide})}, {}, 18));
  expect_same(image, {ones({1, kWide, 1})});
  for (const std::int64_t stride : {std::int64_t{1}, kWide}) {
    GraphMaker maker;
    const ValueId few = maker.input({1, 1, 2});
    maker.output(maker.node("ConvTranspose", {few, maker.floats({1, 1, kWide})},
                            with({{"strides", Ints{stride}}})));
    expect_same(maker, {ones({1, 1, 2})});
  }
}

// Indices that were not there yet were gathered while the graph was prepared.
TEST(SmallGraphs, UnknownElementsAreNotWalkedWhilePlanning) {
  for (const char* op : {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"}) {
    GraphMaker maker;
    const ValueId x = maker.input({1}, DType::kInt64);
    const bool scatters = std::string_view(op).starts_with("Scatter");
    const bool by_tuple = std::string_view(op).ends_with("ND");
    const Ints many = by_tuple ? Ints{1 << 30, 1} : Ints{1 << 30};
    const ValueId indices = maker.node("Expand", {x, maker.integers(many)});
    const ValueId updates = maker.node("Expand", {maker.floats({1}), maker.integers({1 << 30})});
    const ValueId data = scatters ? updates : maker.floats({1});
    std::vector<ValueId> inputs = {data, indices};
    if (scatters) inputs.push_back(updates);
    maker.output(maker.node(op, inputs));
    const std::int64_t begin_ns = core::thread_cpu_ns();
    EXPECT_TRUE(Session::create(maker.finish(), SessionOptions())) << op;
    EXPECT_LE(core::thread_cpu_ns() - begin_ns, 1'000'000'000) << op;
  }
}

// Their channels were listed one by one.
TEST(SmallGraphs, PicturesOfAnyNumberOfChannelsArePlanned) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 32, 8, 8});
  const ValueId some = maker.node("Conv", {x, maker.floats({24, 32, 1, 1})});
  const ValueId many =
      maker.node("Expand", {maker.floats({1, 1, 1, 1}), maker.integers({1, 1 << 28, 8, 8})});
  maker.output(maker.node("Concat", {some, many}, with({{"axis", std::int64_t{1}}})));
  const std::int64_t begin_ns = core::thread_cpu_ns();
  EXPECT_TRUE(Session::create(maker.finish(), SessionOptions()));
  EXPECT_LE(core::thread_cpu_ns() - begin_ns, 1'000'000'000);
}

TEST(SmallGraphs, NothingToChooseFromIsChosenAtOnce) {
  GraphMaker maker;
  const ValueId boxes = maker.input({1, 0, 4}), scores = maker.input({1, std::int64_t{1} << 40, 0});
  maker.output(maker.node("NonMaxSuppression", {boxes, scores}));
  expect_same(maker, {ones({1, 0, 4}), ones({1, std::int64_t{1} << 40, 0})});
}

TEST(SmallGraphs, RegionsOutsideOfThePictureCanBeStopped) {
  GraphMaker maker;
  const ValueId x = maker.input({1, 1, 2, 2});
  const Ints zero = {0};
  const std::vector<float> far = {1e6f, 1e6f, 2e6f, 2e6f};
  maker.output(maker.node("RoiAlign",
                          {x, maker.constant(Tensor::of<float>({1, 4}, far)),
                           maker.constant(Tensor::of<std::int64_t>({1}, zero))},
                          with({{"sampling_ratio", std::int64_t{1024}},
                                {"output_height", std::int64_t{1024}},
                                {"output_width", std::int64_t{1024}}})));
  expect_stoppable(maker, {ones({1, 1, 2, 2})});
}

TEST(SmallGraphs, ASequenceIsAsLongAsIsAcceptedHoweverItIsAsked) {
  GraphMaker maker;
  const ValueId x = maker.input({0});
  const ValueId parts = maker.node("SplitToSequence", {x, maker.integers(Ints(1 << 17, 0))});
  maker.output(maker.node("SequenceLength", {parts}));
  const Outputs made = run(maker, {ones({0})}, Backend::kCpu);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("at most 65536 are accepted"));
}

// They were read as int64.
TEST(SmallGraphs, ListsMayBeOfEitherInteger) {
  const auto list = [](GraphMaker& maker, const std::vector<std::int32_t>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return maker.constant(Tensor::of<std::int32_t>({count}, values));
  };
  GraphMaker pads;
  const ValueId padded =
      pads.node("Pad", {pads.input({1, 1, 3, 3}), list(pads, {0, 0, 1, 1, 0, 0, 1, 1})});
  pads.output(pads.node("AveragePool", {padded}, with({{"kernel_shape", Ints{2, 2}}})));
  expect_same(pads, {ones({1, 1, 3, 3})});
  GraphMaker means;
  const ValueId y = means.node("Conv", {means.input({1, 16, 3, 3}), means.floats({16, 16, 1, 1})});
  means.output(means.node("ReduceMean", {y, list(means, {2, 3})}, {}, 18));
  expect_same(means, {ones({1, 16, 3, 3})});
}

// What they compute from constants was bounded by a node's first element, or not at all.
TEST(SmallGraphs, JudgingWhetherRequestsCanBeJoinedIsBounded) {
  const auto objection = [](const std::function<ValueId(GraphMaker&)>& constant) {
    GraphMaker maker;
    const ValueId x = maker.input({-1, 1});
    maker.output(maker.node("Add", {x, constant(maker)}));
    const std::int64_t begin_ns = core::thread_cpu_ns();
    const std::string why = batching_objection(maker.graph());
    EXPECT_LE(core::thread_cpu_ns() - begin_ns, 10'000'000'000);
    return why;
  };
  EXPECT_THAT(objection([](GraphMaker& maker) {
                const ValueId c = maker.floats({1, 1, 2048, 2048});
                return maker.node("Conv", {c, c}, with({{"pads", Ints(4, 2047)}}));
              }),
              HasSubstr("too large a constant"));
  EXPECT_THAT(objection([](GraphMaker& maker) {
                return maker.node("Det", {maker.floats({4096, 4096})});
              }),
              HasSubstr("too large a constant"));
}

// What fast kernels list beside the arena is bounded, and what they do not list is the judge's.
TEST(SmallGraphs, ListsOfFastKernelsAreBounded) {
  const auto one = [](std::string_view op, std::vector<Tensor> inputs, kernels::Attributes named,
                      int opset = 18) {
    GraphMaker maker;
    std::vector<ValueId> ids;
    for (const Tensor& input : inputs) ids.push_back(maker.constant(input));
    const auto dims = inputs[0].shape().dims();
    ids[0] = maker.input({dims.begin(), dims.end()});
    maker.output(maker.node(op, ids, std::move(named), opset));
    expect_same(maker, {inputs[0]});
  };
  const auto ints = [](const Ints& values) {
    return Tensor::of<std::int64_t>({std::ssize(values)}, values);
  };
  const std::int64_t far = std::int64_t{1} << 30;
  one("Einsum", {ones({0, far})}, with({{"equation", std::string("ba->")}}));
  one("ConvTranspose", {ones({1, 1, 1, 1}), ones({1, 1, 2, 2})},
      with({{"dilations", Ints{32768, 32768}}, {"pads", Ints{32704, 32704, 0, 0}}}));
  one("AveragePool", {ones({0, 1, 1 << 20, 1 << 20})}, with({{"kernel_shape", Ints{1, 1}}}));
  one("Col2Im", {ones({1, 1, 2}), ints({1}), ints({1})},
      with({{"strides", Ints{far}}, {"pads", Ints{far, 0}}}));
  one("Resize",
      {ones({4, 4, 4}), Tensor::of<float>({6}, std::array{.1f, .1f, -1.f, .9f, .9f, 2.f}),
       Tensor::of<float>({0}, {}), ints({3, 3, 5})},
      with({{"mode", std::string("cubic")},
            {"cubic_coeff_a", 1e30f},
            {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}));
  one("Resize",
      {ones({1, 9}), Tensor::of<float>({4}, std::array{0.f, 0.f, 1835008.f, 1.f}),
       Tensor::of<float>({2}, std::array{1.f / (1 << 18), 1.f})},
      with({{"mode", std::string("linear")},
            {"antialias", std::int64_t{1}},
            {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}));
}

// In memory that the next run writes again, whatever their number.
TEST(SmallGraphs, SmallValuesAreAnewInEveryRun) {
  for (const int nodes : {1, 17, 65, 300}) {
    GraphMaker maker;
    ValueId x = maker.input({5});
    const ValueId axis = maker.integers({0});
    for (int i = 0; i < nodes; ++i) x = maker.node(i % 2 == 0 ? "CumSum" : "Softmax", {x, axis});
    for (int i = 0; i < nodes; ++i) {
      if (i % 2 == 1) maker.graph().nodes[static_cast<std::size_t>(i)].inputs.pop_back();
    }
    maker.output(x);
    auto fast = Session::create(maker.finish(), {});
    auto judge = Session::create(maker.finish(), {.backend = Backend::kRef});
    ASSERT_TRUE(fast && judge);
    for (const float one : {1.f, -2.f, 1.f}) {
      const auto input = Tensor::of<float>({5}, std::array{one, 0.f, 3.f, one, one});
      const auto got = fast->run({&input, 1}), expected = judge->run({&input, 1});
      ASSERT_TRUE(got && expected);
      EXPECT_TRUE(std::ranges::equal((*got)[0].bytes(), (*expected)[0].bytes())) << nodes;
    }
  }
}

// They are called from run to run, without what is around other nodes.
TEST(SmallGraphs, NodesThatOnlyAreCalledAreCountedAndStopped) {
  GraphMaker maker;
  ValueId x = maker.input({5});
  for (int i = 0; i < 40; ++i) x = maker.node("CumSum", {x, maker.integers({0})});
  maker.output(x);
  struct Pacer final : core::Pacer {
    int paces = 0, allowed = 1000;
    std::int64_t ops = 0;
    bool pace(std::int64_t work) override {
      ops += work;
      return ++paces <= allowed;
    }
    bool yield() override { return true; }
  };
  auto session = Session::create(maker.finish(), {});
  ASSERT_TRUE(session);
  const Tensor input = ones({5});
  for (int run = 0; run < 3; ++run) {
    Pacer all, some;
    some.allowed = 7;
    ASSERT_TRUE(session->run({&input, 1}, {.pacer = &all}));
    EXPECT_EQ(all.paces, 40);
    EXPECT_FALSE(session->run({&input, 1}, {.pacer = &some}));
    EXPECT_EQ(some.paces, 8);
    EXPECT_TRUE(session->run({&input, 1}, {.ops_max = all.ops}));
    EXPECT_FALSE(session->run({&input, 1}, {.ops_max = all.ops - 1}));
  }
}

// They went through all taps for each strip of places, and through a whole row for each bin.
TEST(SmallGraphs, FastKernelsDoNotDoWhatTheJudgeNeedNot) {
  const std::int64_t begin_ns = core::thread_cpu_ns();
  const std::int64_t far = 1 << 21;
  GraphMaker blocks;
  const ValueId x = blocks.input({1, far, 1});
  blocks.output(blocks.node("Col2Im", {x, blocks.integers({far}), blocks.integers({far})}, {}, 18));
  expect_same(blocks, {ones({1, far, 1})});
  GraphMaker bins;
  const ValueId picture = bins.input({1, 1, 1, far});
  const auto last = static_cast<float>(far - 1);
  const ValueId region =
      bins.constant(Tensor::of<float>({1, 5}, std::array{0.f, 0.f, 100.f, last, 100.f}));
  bins.output(
      bins.node("MaxRoiPool", {picture, region}, with({{"pooled_shape", Ints{1 << 17, 1}}})));
  expect_same(bins, {ones({1, 1, 1, far})});
  EXPECT_LE(core::thread_cpu_ns() - begin_ns, 10'000'000'000);
}

}  // namespace
}  // namespace commensal::graph
