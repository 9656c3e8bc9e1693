// SPDX-License-Identifier: Apache-2.0
// What is wrong with a call is said in one line, and never by a crash.
#include <gtest/gtest.h>

#include <commensal/compute/kernels/testing/samples.hpp>
#include <limits>
#include <map>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::Shape;
using List = std::vector<std::int64_t>;

Tensor zeros(const Shape& shape) {
  return Tensor::of<float>(shape, std::vector<float>(static_cast<std::size_t>(shape.elements())));
}
// Costs nothing, whatever its dimensions.
Tensor empty(const Shape& shape) { return Tensor::copy_of({tensor::DType::kInt64, shape}, {}); }
Tensor list(const List& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Attributes with(const char* name, Attribute value) {
  Attributes made;
  made.set(name, std::move(value));
  return made;
}

struct Refused {
  Sample sample;
  std::string message;  // part of it
};

TEST(Infer, SaysInOneLineWhatIsWrong) {
  const Tensor flags =
      Tensor::copy_of({tensor::DType::kBool, Shape{2}}, std::vector<std::uint8_t>{0, 1});
  const Refused cases[] = {
      {{"Conv", 11, {zeros({1, 3, 5, 5}), zeros({2, 4, 3, 3})}}, "do not fit"},
      {{"Conv", 11, {zeros({1, 3}), zeros({2, 3})}}, "one rank, 3 or more"},
      {{"Conv", 11, {zeros({1, 1, 2, 2}), zeros({1, 1, 3, 3})}}, "does not fit spatial dimension"},
      {{"Conv", 11, {zeros({1, 1, 2}), zeros({1, 1, 1}), zeros({3})}}, "bias must be [1]"},
      {{"Conv", 11, {zeros({1, 1, 2}), zeros({1, 1, 1})}, with("strides", List{0})}, "'strides'"},
      {{"Conv", 11, {zeros({1, 1, 2}), zeros({1, 1, 1})}, with("pads", List{1})}, "'pads'"},
      {{"Conv", 11, {zeros({1, 1, 2}), zeros({1, 1, 1})}, with("group", 1.0f)},
       "attribute 'group' must be an integer"},
      {{"MaxPool", 11, {zeros({1, 1, 4})}}, "'kernel_shape' is missing"},
      {{"MatMul", 13, {zeros({2, 3}), zeros({2, 3})}}, "cannot be multiplied"},
      {{"Gemm", 13, {zeros({2, 3}), zeros({3, 2}), zeros({3})}}, "does not broadcast"},
      {{"Gemm", 13, {zeros({2, 3, 1}), zeros({3, 2})}}, "must have rank 2"},
      {{"Add", 14, {zeros({2}), zeros({3})}}, "do not broadcast"},
      {{"Add", 14, {zeros({2}), flags}}, "must be float32 like input 0"},
      {{"Exp", 13, {flags}}, "must be one of float32, float64, float16, bfloat16, not bool"},
      {{"Reshape", 14, {zeros({2, 3}), list({4, 2})}}, "cannot be reshaped"},
      {{"Reshape", 14, {zeros({2, 3}), list({-1, -1})}}, "negative"},
      {{"Reshape", 14, {zeros({2, 3}), list({std::int64_t{1} << 62, 4})}}, "more than"},
      {{"Transpose", 13, {zeros({2, 3})}, with("perm", List{0, 0})}, "named twice"},
      {{"Concat", 13, {zeros({2, 3}), zeros({3, 3})}, with("axis", std::int64_t{1})}, "joined"},
      {{"Concat", 13, {zeros({2})}}, "'axis' is missing"},
      {{"Gather", 13, {zeros({2}), list({2})}}, "outside of a dimension"},
      {{"Softmax", 13, {zeros({2})}, with("axis", std::int64_t{3})}, "outside"},
      {{"Slice", 13, {zeros({2}), list({0}), list({1}), list({0}), list({0})}}, "step is 0"},
      {{"Expand", 13, {zeros({2}), list({3})}}, "do not broadcast"},
      {{"Tile", 13, {zeros({2}), list({std::numeric_limits<std::int64_t>::max()})}}, "repeats"},
      {{"Pad", 13, {zeros({2}), list({-2, -1})}}, "do not fit"},
      {{"Split", 13, {zeros({3})}, {}, 2}, "equal parts"},
      {{"RNN", 14, {zeros({0, std::int64_t{1} << 39, 2}), zeros({1, 3, 2}), zeros({1, 3, 3})}},
       "do not fit"},
      {{"Gemm", 6, {zeros({1 << 30, 0}), zeros({0, 1 << 30}), zeros({1})}}, "more than"},
      {{"Split", 13, {zeros({1}), list({1, 1})}, {}, 2}, "do not make up 1"},
      {{"ConstantOfShape", 9, {list({-1})}}, "negative"},
      {{"Cast", 13, {zeros({2})}, with("to", std::int64_t{14})}, "not supported"},
      {{"Range", 11, {zeros({}), zeros({}), zeros({})}}, "without an end"},
      {{"GatherND", 13, {zeros({2}), empty({std::int64_t{1} << 40, 0})}}, "do not fit"},
      {{"ScatterND", 13, {empty({0}), empty({1 << 30, 0}), empty({1 << 30, 0})}}, "do not fit"},
      {{"Unique", 11, {empty({1 << 30, 0})}, with("axis", std::int64_t{0}), 2}, "empty slices"},
      {{"SpaceToDepth",
        13,
        {empty({0, std::int64_t{1} << 40, 0, 0})},
        with("blocksize", std::int64_t{1} << 19)},
       "do not fit"},
      {{"BatchNormalization",
        9,
        {zeros({1, 2, 1}), zeros({2}), zeros({2}), zeros({1}), zeros({2})}},
       "input 3 must be float32[2]"},
  };
  for (const Refused& one : cases) {
    SampleCall made(one.sample);
    const auto inferred = made.infer();
    ASSERT_FALSE(inferred.has_value()) << one.sample.name << ": " << one.message;
    const std::string& message = inferred.error().message;
    EXPECT_NE(message.find(one.message), std::string::npos) << one.sample.name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Infer, BoundsTheArithmeticOfWindows) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const char* name : {"pads", "dilations", "strides", "kernel_shape"}) {
    Attributes attributes = with("kernel_shape", List{1});
    attributes.set(name, name == std::string("pads") ? List{huge, huge} : List{huge});
    SampleCall made(Sample{"MaxPool", 12, {zeros({1, 1, 4})}, attributes});
    EXPECT_FALSE(made.infer().has_value()) << name;
  }
}

// The fault: an axis near the largest number came round to one that fits, and strides were written
// where there are none.
TEST(Infer, BoundsTheAxisOfALimitedBroadcast) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t axis : {kHuge, kHuge - 1, std::int64_t{2}, -kHuge - 1}) {
    Attributes attributes = with("broadcast", std::int64_t{1});
    attributes.set("axis", axis);
    SampleCall made(Sample{"Add", 6, {zeros({2, 3}), zeros({3})}, attributes});
    const auto inferred = made.infer();
    ASSERT_FALSE(inferred.has_value()) << axis;
    EXPECT_NE(inferred.error().message.find("does not lie on"), std::string::npos) << axis;
  }
}

/// What arithmetic on what a model says is most likely to get wrong.
constexpr std::int64_t kExtremes[] = {std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::min() + 1,
                                      -1,
                                      std::int64_t{1} << 31,
                                      std::int64_t{1} << 62,
                                      std::numeric_limits<std::int64_t>::max() - 1,
                                      std::numeric_limits<std::int64_t>::max()};

/// Whatever infer makes of it: no more than a tensor may have.
void expect_bounded(const Sample& sample, const std::string& what) {
  SampleCall made(sample);
  if (!made.infer()) return;
  for (const auto& output : made.call().outputs) {
    EXPECT_GE(output.shape.elements(), 0) << sample.name << " " << what;
  }
}

std::vector<Attribute> extremes_like(const Attribute& value) {
  std::vector<Attribute> made;
  for (const std::int64_t extreme : kExtremes) {
    if (std::holds_alternative<std::int64_t>(value)) made.emplace_back(extreme);
    const auto* const list = std::get_if<List>(&value);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      List changed = *list;
      changed[i] = extreme;
      made.emplace_back(changed);
    }
  }
  return made;
}

// All operators' attributes, on all operators: who writes a model may name any. Sanitizers listen.
TEST(Infer, BearsAnyIntegerInAnyAttribute) {
  std::map<std::string, Attribute> known = {{"axis", std::int64_t{0}}};
  for (const Sample& sample : all_samples()) {
    known.insert(sample.attributes.all().begin(), sample.attributes.all().end());
  }
  for (const Sample& sample : all_samples()) {
    std::map<std::string, Attribute> named = known;
    for (const auto& [name, value] : sample.attributes.all()) named[name] = value;
    for (const auto& [name, value] : named) {
      for (Attribute& extreme : extremes_like(value)) {
        Sample changed = sample;
        changed.attributes.set(name, std::move(extreme));
        expect_bounded(changed, name);
      }
    }
  }
}

TEST(Infer, BearsAnyIntegerInAnyInput) {
  for (const Sample& sample : all_samples()) {
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!sample.inputs[i].defined() || sample.inputs[i].dtype() != tensor::DType::kInt64)
        continue;
      const auto given = sample.inputs[i].data<std::int64_t>();
      for (std::size_t k = 0; k < given.size(); ++k) {
        for (const std::int64_t extreme : kExtremes) {
          List values(given.begin(), given.end());
          values[k] = extreme;
          Sample changed = sample;
          changed.inputs[i] = Tensor::of<std::int64_t>(sample.inputs[i].shape(), values);
          expect_bounded(changed, fmt::format("input {}", i));
        }
      }
    }
  }
}

/// That it infers the same where the elements of that input are all of bytes `each`.
void expect_no_elements_read(const Sample& sample, std::size_t i, std::uint8_t each,
                             bool is_unknown) {
  const Tensor& input = sample.inputs[i];
  const core::Bytes bytes(input.bytes().size(), each);
  if (!tensor::check_elements(input.dtype(), bytes)) return;
  Sample changed = sample;
  changed.inputs[i] = Tensor::copy_of(input.type(), bytes);
  SampleCall given(sample), other(changed);
  if (is_unknown) other.call().unknown.bits |= Places::bit(i);
  ASSERT_TRUE(given.infer() && other.infer()) << sample.name << ", input " << i;
  EXPECT_TRUE(other.call().outputs == given.call().outputs)
      << sample.name << " " << sample.opset << ", input " << i;
}

/// Calls f(sample, input) for all inputs whose elements decide no output's type.
template <class F>
void for_inputs_that_do_not_shape(const F& f) {
  for (const Sample& sample : all_samples()) {
    const auto shaping = SampleCall(sample).op().shaped_by();
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const Tensor& input = sample.inputs[i];
      const bool has_bytes = input.defined() && input.dtype() != tensor::DType::kString;
      if (shaping && has_bytes && !shaping->has(i)) f(sample, i);
    }
  }
}

// A planned graph infers such a node once and for all.
TEST(Infer, LooksAtNoElementsButOfInputsThatItChecksOrThatShape) {
  for_inputs_that_do_not_shape([](const Sample& sample, std::size_t i) {
    if (SampleCall(sample).op().reads_ahead(i)) return;
    for (const std::uint8_t each : {0x00, 0x01, 0x7f, 0xff}) {
      expect_no_elements_read(sample, i, each, false);
    }
  });
}

// The planner knows types alone of such an input, and says that its elements are not there.
TEST(Infer, NeedsNoElementsButOfInputsThatShape) {
  for_inputs_that_do_not_shape(
      [](const Sample& sample, std::size_t i) { expect_no_elements_read(sample, i, 0, true); });
}

TEST(Infer, SlicesByPythonsRulesAtTheEnds) {
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const std::int64_t high = std::numeric_limits<std::int64_t>::max();
  const auto length = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    SampleCall made(
        Sample{"Slice", 13, {zeros({5}), list({start}), list({end}), list({0}), list({step})}});
    EXPECT_TRUE(made.infer().has_value());
    return made.call().outputs[0].shape[0];
  };
  EXPECT_EQ(length(0, high, 1), 5);
  EXPECT_EQ(length(low, high, 2), 3);
  EXPECT_EQ(length(high, low, -1), 5);
  EXPECT_EQ(length(-1, low, low), 1);
  EXPECT_EQ(length(3, 1, 1), 0);
  EXPECT_EQ(length(-2, -1, 1), 1);
}

// The fault: a billion places of padding were counted one by one, for each element.
TEST(Infer, CountsTheElementsOfAWindowNotItsPlaces) {
  constexpr std::int64_t kWide = std::int64_t{1} << 30;
  for (const std::int64_t counts_pads : {0, 1}) {
    Attributes attributes = with("kernel_shape", List{kWide});
    attributes.set("pads", List{kWide - 1, 0});
    attributes.set("count_include_pad", counts_pads);
    const std::vector<float> x = {1, 2};
    SampleCall made(Sample{"AveragePool", 11, {Tensor::of<float>({1, 1, 2}, x)}, attributes});
    ASSERT_TRUE(made.infer());
    const std::vector<Tensor> y = made.run_ref();
    const float wide = static_cast<float>(kWide);
    EXPECT_EQ(y[0].data<float>()[0], counts_pads ? 1 / wide : 1.0f);
    EXPECT_EQ(y[0].data<float>()[1], counts_pads ? 3 / wide : 1.5f);
  }
}

TEST(Infer, ResolvesWindows) {
  const auto out = [](Attributes attributes, std::int64_t dim) {
    attributes.set("kernel_shape", List{3});
    SampleCall made(Sample{"MaxPool", 12, {zeros({1, 1, dim})}, attributes});
    EXPECT_TRUE(made.infer().has_value());
    return made.call().outputs[0].shape[2];
  };
  EXPECT_EQ(out({}, 7), 5);
  EXPECT_EQ(out(with("strides", List{2}), 6), 2);
  Attributes ceil = with("strides", List{2});
  ceil.set("ceil_mode", std::int64_t{1});
  EXPECT_EQ(out(ceil, 6), 3);
  Attributes same = with("strides", List{2});
  same.set("auto_pad", std::string("SAME_LOWER"));
  EXPECT_EQ(out(same, 5), 3);
}

}  // namespace
}  // namespace commensal::kernels
