// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/graph/inner_name.hpp>
#include <commensal/compute/graph/outlook.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <limits>

namespace commensal::graph {
namespace {

using testing::GraphMaker;
using ::testing::HasSubstr;

class OutlookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernels::available_isas().empty()) GTEST_SKIP() << "all is slow here";
  }
};

/// No fast kernel takes so many.
ValueId slow_max(GraphMaker& maker, ValueId x) {
  return maker.node("Max", std::vector<ValueId>(9, x));
}

/// A loop of x = f(body, x) on a vector of four.
std::shared_ptr<const Graph> loop_of(ValueId (*f)(GraphMaker&, ValueId)) {
  GraphMaker body;
  body.input({}, tensor::DType::kInt64);
  const ValueId on = body.input({}, tensor::DType::kBool), x = body.input({-1});
  body.output(body.node("Identity", {on}));
  body.output(f(body, x));
  GraphMaker maker;
  const ValueId start = maker.input({4});
  const ValueId trips = maker.constant(tensor::Tensor::of<std::int64_t>({}, std::array{3L}));
  const ValueId last = maker.node("Loop", {trips, kAbsent, start});
  maker.graph().nodes.back().subgraphs = {{"body", body.finish(), {}}};
  maker.output(last);
  return maker.finish();
}

TEST_F(OutlookTest, FreeDimensionsAreTakenForOne) {
  GraphMaker maker;
  maker.output(slow_max(maker, maker.input({-1, 3})));
  const Outlook outlook = outlook_of(*maker.finish());
  ASSERT_EQ(outlook.slow.size(), 1u);
  EXPECT_EQ(outlook.slow[0].types, "float32[1,3] to float32[1,3]");
  EXPECT_EQ(outlook.unknown, 0);
}

/// Of ConstantOfShape: an int64 of 1.
kernels::Attributes int64_value() {
  kernels::Attributes made;
  constexpr std::int64_t kOne = 1;
  made.set("value", tensor::Tensor::of<std::int64_t>({1}, std::span(&kOne, 1)));
  return made;
}

/// As many floats as asked for, the last of them infinite.
tensor::Tensor unbounded(const tensor::Shape& shape, tensor::DType dtype) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()), 0.5f);
  values.back() = std::numeric_limits<float>::infinity();
  if (dtype == tensor::DType::kFloat32) return tensor::Tensor::of<float>(shape, values);
  std::vector<tensor::Float16> halves;
  for (const float one : values) halves.push_back(tensor::to_float16(one));
  return tensor::Tensor::of<tensor::Float16>(shape, halves);
}

// The fault: kernels that packed weights or widened before they chose were ended before that, and
// taken for fast.
TEST_F(OutlookTest, WhatChoosesAfterItHasPackedIsAskedUntilThen) {
  kernels::Attributes strides;
  strides.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  strides.set("strides", std::vector<std::int64_t>{2, 2});
  const auto slow = [&](const char* op, const tensor::Shape& weights, tensor::DType dtype) {
    GraphMaker maker;
    const ValueId x =
        maker.input({1, op == std::string_view("Conv") ? weights[1] : weights[0], 9, 9}, dtype);
    maker.output(maker.node(op, {x, maker.constant(unbounded(weights, dtype))}, strides));
    const Outlook outlook = outlook_of(*maker.finish());
    EXPECT_EQ(outlook.unknown, 0);
    return outlook.slow.size();
  };
  EXPECT_EQ(slow("Conv", {256, 128, 3, 3}, tensor::DType::kFloat32), 1u);
  EXPECT_EQ(slow("Conv", {256, 128, 3, 3}, tensor::DType::kFloat16), 1u);
  EXPECT_EQ(slow("ConvTranspose", {64, 64, 3, 3}, tensor::DType::kFloat32), 1u);
}

TEST_F(OutlookTest, WhatChoosesAfterItHasWidenedIsAskedUntilThen) {
  kernels::Attributes window;
  window.set("kernel_shape", std::vector<std::int64_t>{300, 300});
  window.set("pads", std::vector<std::int64_t>{299, 299, 0, 0});
  GraphMaker maker;
  maker.output(
      maker.node("AveragePool", {maker.input({1, 4, 300, 300}, tensor::DType::kFloat16)}, window));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.unknown, 0);
  EXPECT_EQ(outlook.slow.size(), 1u);
}

TEST_F(OutlookTest, WhatServesAfterItHasPackedIsFast) {
  GraphMaker maker;
  const std::vector<float> ones(256 * 128 * 9, 1);
  const ValueId w = maker.constant(tensor::Tensor::of<float>({256, 128, 3, 3}, ones));
  maker.output(maker.node("Conv", {maker.input({1, 128, 9, 9}), w}));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.unknown, 0);
  EXPECT_TRUE(outlook.slow.empty());
}

TEST_F(OutlookTest, WhatRefusesOneForAFreeDimensionIsNotKnown) {
  GraphMaker maker;
  const ValueId x = maker.input({-1});
  maker.output(slow_max(maker, maker.node("Reshape", {x, maker.integers({2, 3})})));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.refusal, "");
  EXPECT_THAT(outlook.doubt, HasSubstr("for each free dimension; with 1: node 'Reshape_0'"));
  EXPECT_TRUE(outlook.slow.empty());
  EXPECT_EQ(outlook.unknown, 2);
}

// The fault: behind a free dimension nothing was said of what no number of rows can mend.
TEST_F(OutlookTest, WhatRefusesEveryFreeDimensionIsADoubt) {
  GraphMaker maker;
  maker.output(maker.node("MatMul", {maker.input({-1, 3}), maker.floats({4, 2})}));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.refusal, "");
  EXPECT_THAT(outlook.doubt, HasSubstr("with any of 1, 2, 8, 64, 256 for each free dimension; "
                                       "with 1: node 'MatMul_0' (MatMul): "));
}

TEST_F(OutlookTest, PicturesOfAnySizeAreTakenForSomeThatAreLargeEnough) {
  kernels::Attributes window;
  window.set("kernel_shape", std::vector<std::int64_t>{7, 7});
  GraphMaker maker;
  maker.output(slow_max(maker, maker.node("MaxPool", {maker.input({1, 3, -1, -1})}, window)));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.doubt, "");
  EXPECT_EQ(outlook.unknown, 0);
  ASSERT_EQ(outlook.slow.size(), 1u);
  EXPECT_EQ(outlook.slow[0].types, "float32[1,3,2,2] to float32[1,3,2,2]");
}

TEST_F(OutlookTest, WhatNoElementTypeMendsIsARefusalWhateverTheDimensions) {
  const auto doubles = [](GraphMaker& maker, ValueId x) {
    const ValueId scale = maker.constant(tensor::Tensor::of<double>({2}, std::array{1.0, 1.0}));
    maker.output(maker.node("LayerNormalization", {x, scale}));
    return outlook_of(*maker.finish());
  };
  constexpr const char* kWhy = "(LayerNormalization): input 0 must be one of ";
  GraphMaker free;
  EXPECT_THAT(doubles(free, free.input({-1, 2}, tensor::DType::kFloat64)).refusal, HasSubstr(kWhy));
  GraphMaker behind;  // what only a run can tell the shape of
  const ValueId places = behind.node("NonZero", {behind.input({2})});
  kernels::Attributes to;
  to.set("to", std::int64_t{11});
  EXPECT_THAT(doubles(behind, behind.node("Cast", {places}, to)).refusal, HasSubstr(kWhy));
}

// The fault: boxes of ones never overlap, and each node of a small file took some seconds.
TEST_F(OutlookTest, WhatTakesLongToGuessIsNotKnown) {
  GraphMaker maker;
  const ValueId boxes = maker.input({1, 65536, 4}), scores = maker.input({1, 4, 65536});
  const std::int64_t most = 65536;
  const ValueId limit = maker.constant(tensor::Tensor::of<std::int64_t>({}, std::span(&most, 1)));
  for (int i = 0; i < 20; ++i) {
    const ValueId found = maker.node("NonMaxSuppression", {boxes, scores, limit});
    maker.output(maker.node("ReduceSum", {maker.node("CastLike", {found, boxes})}));
  }
  std::int64_t cpu_ns = 0;
  {
    const core::CpuMeter meter(cpu_ns);
    EXPECT_GE(outlook_of(*maker.finish()).unknown, 1);
  }
  EXPECT_LT(cpu_ns, std::int64_t{20} * 1'000'000'000);
}

// The fault: only guesses were bounded. To infer each of these takes some milliseconds.
TEST_F(OutlookTest, WhatTakesLongToInferIsNotKnown) {
  constexpr std::int64_t kPlaces = 2'000'000;
  GraphMaker maker;
  const ValueId at = maker.node("ConstantOfShape", {maker.integers({kPlaces})}, int64_value());
  const ValueId x = maker.input({4}), updates = maker.input({kPlaces});
  for (int i = 0; i < 4000; ++i) maker.output(maker.node("ScatterElements", {x, at, updates}));
  std::int64_t cpu_ns = 0;
  {
    const core::CpuMeter meter(cpu_ns);
    EXPECT_EQ(outlook_of(*maker.finish()).refusal, "");
  }
  EXPECT_LT(cpu_ns, std::int64_t{25} * 1'000'000'000);
}

TEST_F(OutlookTest, WhatIsKnownToHaveNoElementsIsKnown) {
  GraphMaker maker;
  maker.output(maker.node("Softmax", {maker.input({0, 4})}));
  EXPECT_EQ(outlook_of(*maker.finish()).unknown, 0);
}

TEST_F(OutlookTest, LooksIntoTheGraphsInsideNodes) {
  const Outlook outlook = outlook_of(*loop_of(slow_max));
  ASSERT_EQ(outlook.slow.size(), 1u);
  EXPECT_EQ(outlook.slow[0].node, "Loop_0/body/Max_1");
  EXPECT_EQ(outlook.slow[0].types, "float32[4] to float32[4]");
}

TEST_F(OutlookTest, ARefusalInsideANodeIsADoubt) {
  const Outlook outlook = outlook_of(*loop_of([](GraphMaker& maker, ValueId x) {
    return maker.node("Add", {x, maker.floats({3})});
  }));
  EXPECT_EQ(outlook.refusal, "");
  EXPECT_THAT(outlook.doubt, HasSubstr("Loop_0/body/: node 'Add_1' (Add): "));
}

TEST_F(OutlookTest, OutputsThatAreLeftOutHaveTheirTypes) {
  GraphMaker maker;
  const ValueId x = maker.input({2, 8});
  maker.node_of("LayerNormalization", {x, maker.floats({8})}, {}, 17, 3);
  maker.output(maker.graph().nodes.back().outputs[0]);
  maker.graph().nodes.back().outputs[1] = kAbsent;
  EXPECT_EQ(outlook_of(*maker.finish()).unknown, 0);
}

TEST_F(OutlookTest, WhatIsTooLargeIsNotAsked) {
  GraphMaker maker;
  const ValueId x = maker.input({1 << 28}), at = maker.input({1 << 28}, tensor::DType::kInt64);
  maker.output(maker.node("Gather", {x, at}));
  maker.output(maker.node("Relu", {maker.input({8})}));
  EXPECT_EQ(outlook_of(*maker.finish()).unknown, 1);
}

TEST_F(OutlookTest, ElementsThatShapesDependOnAreTakenForOne) {
  GraphMaker maker;
  const ValueId to = maker.input({1}, tensor::DType::kInt64);
  maker.output(slow_max(maker, maker.node("Expand", {maker.input({3}), to})));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.unknown, 0);
  ASSERT_EQ(outlook.slow.size(), 1u);
  EXPECT_EQ(outlook.slow[0].types, "float32[3] to float32[3]");
}

TEST_F(OutlookTest, ShapesThatOnlyARunKnowsAreThoseOfOnes) {
  GraphMaker maker;
  const ValueId places = maker.node("NonZero", {maker.input({2, 3})});
  maker.output(slow_max(maker, places));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.unknown, 0);
  ASSERT_EQ(outlook.slow.size(), 1u);
  EXPECT_EQ(outlook.slow[0].types, "int64[2,6] to int64[2,6]");
}

TEST_F(OutlookTest, WhatRefusesOnesIsNotKnownAndRefusesNothing) {
  GraphMaker maker;
  const ValueId to = maker.input({2}, tensor::DType::kInt64);
  maker.output(maker.node("Relu", {maker.node("Reshape", {maker.input({2, 3}), to})}));
  const Outlook outlook = outlook_of(*maker.finish());
  EXPECT_EQ(outlook.refusal, "");
  EXPECT_EQ(outlook.unknown, 2);
}

TEST_F(OutlookTest, WhatIsTooManyOnesIsNotKnown) {
  GraphMaker maker;
  const ValueId x = maker.input({(limits::kGuessedBytesMax >> 2) + 1});
  maker.output(slow_max(maker, maker.node("NonZero", {x})));
  EXPECT_GE(outlook_of(*maker.finish()).unknown, 1);
}

TEST(InnerName, OfManyBytesLacksItsMiddle) {
  EXPECT_EQ(inner_name("loop/body/", "sum"), "loop/body/sum");
  const std::string whole(limits::kInnerNameBytesMax - 4, 'a');
  EXPECT_EQ(inner_name(whole, "1234"), whole + "1234");
  const std::string cut = inner_name(whole, "12345");
  EXPECT_LE(cut.size(), limits::kInnerNameBytesMax);
  EXPECT_THAT(cut, HasSubstr("a...a"));
  EXPECT_TRUE(cut.ends_with("a12345"));
}

TEST(InnerName, IsCutBetweenLetters) {
  std::string letters;
  for (int i = 0; i < 200; ++i) letters += "\u00e9";
  for (const char* before : {"", "a"}) {
    const std::string cut = inner_name(before, letters);
    const std::size_t gap = cut.find("...");
    ASSERT_NE(gap, std::string::npos);
    EXPECT_EQ(cut.substr(gap - 2, 2), "\u00e9");
    EXPECT_EQ(cut.substr(gap + 3, 2), "\u00e9");
  }
}

}  // namespace
}  // namespace commensal::graph
