// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <commensal/compute/kernels/cpu/testing/elementwise_cases.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;

constexpr std::string_view kUnaryNames[] = {
    "Abs",         "Ceil",      "Clip",      "Erf",  "Exp",      "Floor",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Log",  "Neg",      "Relu",
    "Reciprocal",  "Round",     "Sigmoid",   "Sqrt", "Softplus", "Tanh"};
constexpr std::string_view kBinaryNames[] = {"Add", "Div", "Max", "Min", "Mul", "Pow", "Sub"};

TEST(EqualityUnary, EveryKindOfValue) {
  for (const std::string_view name : kUnaryNames) check_function(name, expect_equal_to_ref);
}

TEST(EqualityUnary, Parameters) {
  Case leaky{.name = "LeakyRelu", .attributes = {}, .inputs = {wide_values(999)}, .constants = {}};
  leaky.attributes.set("alpha", 0.3f);
  expect_equal_to_ref(leaky);
  const float low = -0.5f, high = 2;
  const Tensor bounds[] = {Tensor::of<float>({}, std::span(&low, 1)),
                           Tensor::of<float>({}, std::span(&high, 1))};
  expect_equal_to_ref({.name = "Clip",
                       .attributes = {},
                       .inputs = {wide_values(999), bounds[0], bounds[1]},
                       .constants = {}});
  expect_equal_to_ref({.name = "Clip",
                       .attributes = {},
                       .inputs = {wide_values(999), Tensor(), bounds[1]},
                       .constants = {}});
  Case old{
      .name = "Clip", .opset = 6, .attributes = {}, .inputs = {wide_values(999)}, .constants = {}};
  old.attributes.set("min", 0.0f);
  old.attributes.set("max", 6.0f);
  expect_equal_to_ref(old);
}

/// Of every `stride`-th number whose bits are in [first, end).
void check_numbers(std::span<const std::string_view> names, std::uint64_t first, std::uint64_t end,
                   std::uint32_t stride) {
  constexpr std::size_t kBlock = 1 << 20;
  for (std::uint64_t bits = first; bits < end;) {
    std::vector<float> numbers;
    for (; bits < end && numbers.size() < kBlock; bits += stride) {
      numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    const Tensor x = Tensor::of<float>({std::ssize(numbers)}, numbers);
    for (const std::string_view name : names) {
      const int opset = name == "Swish" ? 24 : 14;
      expect_equal_to_ref(
          {.name = name, .opset = opset, .attributes = {}, .inputs = {x}, .constants = {}});
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// From pi / 4, from where on angles are reduced, to 2^24, below which that is done in binary64.
void check_angles(std::uint32_t stride) {
  constexpr std::string_view kNames[] = {"Cos", "Sin", "Tan"};
  check_numbers(kNames, 0x3f490fda, 0x4b800000, stride);
}
TEST(EqualityUnary, Angles) { check_angles(4999); }
TEST(ExhaustiveAngles, BelowTheBound) { check_angles(1); }

// What leaves clauses of the judge's functions out.
void check_powers(std::uint32_t stride) {
  constexpr std::string_view kNames[] = {"Erf", "Exp", "Sigmoid", "Swish", "Tanh"};
  check_numbers(kNames, 0, std::uint64_t{1} << 32, stride);
}
TEST(EqualityUnary, Powers) { check_powers(99991); }
TEST(ExhaustivePowers, OfAllNumbers) { check_powers(1); }

TEST(EqualityUnary, Swish) {
  for (const float alpha : {1.0f, 0.3f, -2.0f, 0.0f}) {
    for (const std::int64_t count : {1, 5, 31, 40000}) {
      Case test{.name = "Swish",
                .opset = 24,
                .attributes = {},
                .inputs = {wide_values(count)},
                .constants = {}};
      if (alpha != 1) test.attributes.set("alpha", alpha);
      expect_equal_to_ref(test);
    }
  }
}

TEST(EqualityUnary, Not) {
  for (const std::int64_t count : {0, 1, 63, 1000, 40001}) {
    core::Bytes bytes;
    for (std::int64_t i = 0; i < count; ++i) bytes.push_back(i % 3 == 0 || i % 7 == 1);
    expect_equal_to_ref({.name = "Not",
                         .attributes = {},
                         .inputs = {Tensor::copy_of({tensor::DType::kBool, {count}}, bytes)},
                         .constants = {}});
  }
}

TEST(EqualityUnary, Gelu) {
  for (const std::string way : {"none", "tanh"}) {
    Case test{.name = "Gelu",
              .opset = 20,
              .attributes = {},
              .inputs = {wide_values(40000)},
              .constants = {}};
    test.attributes.set("approximate", way);
    expect_equal_to_ref(test);
  }
}

TEST(EqualityBinary, Powers) {
  for (const float power : {2.0f, -2.0f, 1.0f, 0.0f, -0.0f, 3.0f, 0.5f, 2.5f}) {
    const Tensor exponent = Tensor::of<float>({}, std::span(&power, 1));
    const Tensor one = Tensor::of<float>({1}, std::span(&power, 1));
    expect_equal_to_ref({.name = "Pow",
                         .attributes = {},
                         .inputs = {wide_values(40000), exponent},
                         .constants = {}});
    expect_equal_to_ref(
        {.name = "Pow", .attributes = {}, .inputs = {one, wide_values(4000)}, .constants = {}});
  }
}

TEST(EqualityBinary, Broadcasts) {
  for (const std::string_view name : kBinaryNames) check_broadcasts(name, expect_equal_to_ref);
}

TEST(EqualityNormalise, BatchNormalization) {
  for (const Values values : {Values::kPlain, Values::kSpecial}) {
    for (const Shape& x : {Shape{2, 5, 7, 9}, Shape{3, 20}, Shape{1, 3, 100}}) {
      const Shape c = {x[1]};
      expect_equal_to_ref({.name = "BatchNormalization",
                           .attributes = {},
                           .inputs = {random_tensor(x, 1, values), random_tensor(c, 2, values),
                                      random_tensor(c, 3, values), random_tensor(c, 4, values),
                                      random_tensor(c, 5, values)},
                           .constants = {}});
    }
  }
}

TEST(EqualityNormalise, Softmax) { check_softmaxes(expect_equal_to_ref); }

TEST(EqualityNormalise, LayerNormalization) {
  for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
    for (const std::int64_t n : {1, 3, 16, 31, 32, 33, 96, 200, 768}) {
      for (const int outputs : {1, 3}) {
        Case test{.name = "LayerNormalization",
                  .opset = 17,
                  .attributes = {},
                  .inputs = {random_tensor({37, n}, 1, values), random_tensor({n}, 2, values)},
                  .constants = {},
                  .outputs = outputs};
        expect_equal_to_ref(test);
        test.inputs.push_back(random_tensor({n}, 3, values));
        expect_equal_to_ref(test);
      }
    }
  }
}

TEST(EqualityReduce, Rows) {
  for (const std::string_view name : {"ReduceMean", "ReduceSum"}) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      for (const Shape& shape : {Shape{3, 5, 96}, Shape{2, 90, 7}, Shape{1, 1, 1}, Shape{0, 2, 3},
                                 Shape{2, 3, 0}, Shape{2, 1, 9000}}) {
        for (const std::vector<std::int64_t>& axes :
             {std::vector<std::int64_t>{-1}, {1, 2}, {0, 1, 2}, {0}, {1}, {0, 2}}) {
          Case test{.name = name,
                    .opset = 12,
                    .attributes = {},
                    .inputs = {random_tensor(shape, 4, values)},
                    .constants = {}};
          test.attributes.set("axes", axes);
          test.serves = shape.elements() > 0;
          expect_equal_to_ref(test);
          test.attributes.set("keepdims", std::int64_t{0});
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

TEST(EqualityMovement, Concat) {
  for (const std::int64_t axis : {0, 1, -1}) {
    Case test{.name = "Concat", .attributes = {}, .inputs = {}, .constants = {}};
    test.attributes.set("axis", axis);
    for (std::int64_t length : {3, 1, 0, 4}) {
      test.inputs.push_back(random_tensor(axis == 0   ? Shape{length, 2, 5}
                                          : axis == 1 ? Shape{2, length, 5}
                                                      : Shape{2, 5, length},
                                          static_cast<std::uint64_t>(length), Values::kSpecial));
    }
    expect_equal_to_ref(test);
  }
}

TEST(EqualityMovement, Transpose) {
  const std::vector<std::int64_t> orders[] = {{},           {0, 2, 3, 1}, {0, 3, 1, 2},
                                              {3, 2, 1, 0}, {0, 1, 2, 3}, {2, 3, 0, 1}};
  for (const auto& order : orders) {
    for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 1, 100, 60}, Shape{2, 0, 3, 1},
                               Shape{1, 61, 37, 35}, Shape{3, 70, 1, 90}}) {
      Case test{.name = "Transpose",
                .attributes = {},
                .inputs = {random_tensor(shape, 9, Values::kSpecial)},
                .constants = {}};
      if (!order.empty()) test.attributes.set("perm", order);
      expect_equal_to_ref(test);
    }
  }
}

Tensor list(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(EqualityMovement, Slice) {
  const Tensor x = random_tensor({5, 60, 70}, 9, Values::kSpecial);
  using Ints = std::vector<std::int64_t>;
  const std::array<Ints, 3> cuts[] = {
      {Ints{0, 0, 0}, {5, 60, 70}, {1, 1, 1}},  {Ints{1, 3, 2}, {4, 50, 69}, {1, 1, 1}},
      {Ints{0, 1, 0}, {5, 60, 70}, {1, 2, 1}},  {Ints{4, 59, 69}, {-9, -99, -99}, {-1, -1, -1}},
      {Ints{0, 0, 1}, {5, 60, 70}, {2, 3, 2}},  {Ints{2, 0, 0}, {3, 60, 70}, {1, 1, 1}},
      {Ints{0, 0, 68}, {5, 60, 0}, {1, 1, -3}}, {Ints{3, 0, 0}, {3, 60, 70}, {1, 1, 1}},
  };
  for (const auto& [starts, ends, steps] : cuts) {
    expect_equal_to_ref({.name = "Slice",
                         .attributes = {},
                         .inputs = {x, list(starts), list(ends), list({0, 1, 2}), list(steps)},
                         .constants = {}});
  }
}

TEST(EqualityUnary, DropoutThatDropsNothing) {
  const float ratio = 0;
  const bool yes = true;
  const Tensor none = Tensor::of<float>({}, std::span(&ratio, 1));
  const Tensor trains = Tensor::of<bool>({}, std::span(&yes, 1));
  for (const int outputs : {1, 2}) {
    expect_equal_to_ref({.name = "Dropout",
                         .attributes = {},
                         .inputs = {wide_values(40000)},
                         .constants = {},
                         .outputs = outputs});
    expect_equal_to_ref({.name = "Dropout",
                         .attributes = {},
                         .inputs = {wide_values(40000), none, trains},
                         .constants = {},
                         .outputs = outputs});
    expect_equal_to_ref({.name = "Dropout",
                         .attributes = {},
                         .inputs = {wide_values(400), Tensor(), trains},
                         .constants = {},
                         .outputs = outputs,
                         .serves = false});  // it drops some
  }
}

TEST(EqualityMovement, Pad) {
  const Tensor x = random_tensor({3, 20, 50, 30}, 9, Values::kSpecial);
  const float value = 2.5f;
  const Tensor fill = Tensor::of<float>({}, std::span(&value, 1));
  for (const std::vector<std::int64_t>& pads : {std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0},
                                                {0, 0, 3, 2, 0, 0, 1, 4},
                                                {1, 0, 0, 0, 0, 2, 0, 0},
                                                {0, -3, 5, -1, 0, 2, -7, -2},
                                                {-1, 0, 0, 0, -2, 0, 0, 0},
                                                {0, 0, -60, 0, 0, 0, 20, 0},
                                                {0, 0, 20, 0, 0, 0, -60, 0}}) {
    for (const bool filled : {false, true}) {
      Case test{.name = "Pad", .attributes = {}, .inputs = {x, list(pads)}, .constants = {}};
      if (filled) test.inputs.push_back(fill);
      expect_equal_to_ref(test);
    }
  }
}

TEST(EqualityMovement, SplitExpandGather) {
  const Tensor x = random_tensor({4, 60, 70}, 9, Values::kSpecial);
  for (const std::int64_t axis : {0, 1, 2}) {
    Case split{.name = "Split", .attributes = {}, .inputs = {x}, .constants = {}, .outputs = 2};
    split.attributes.set("axis", axis);
    expect_equal_to_ref(split);
    Case gather{
        .name = "Gather", .attributes = {}, .inputs = {x, list({3, 0, -1, 1, 1})}, .constants = {}};
    gather.attributes.set("axis", axis);
    expect_equal_to_ref(gather);
  }
  for (const Shape& shape : {Shape{1, 60, 1}, Shape{4, 1, 70}, Shape{70}, Shape{1}, Shape{}}) {
    expect_equal_to_ref({.name = "Expand",
                         .attributes = {},
                         .inputs = {random_tensor(shape, 3, Values::kSpecial), list({4, 60, 70})},
                         .constants = {}});
  }
}

// Elements of 1, 2, 4 and 8 bytes, each of them again and again along the last dimension.
TEST(EqualityMovement, ExpandOfEveryWidth) {
  using tensor::DType;
  for (const DType dtype : {DType::kBool, DType::kFloat16, DType::kInt32, DType::kInt64}) {
    for (const std::int64_t last : {2, 3, 8, 40, 71, 1030}) {
      for (const std::int64_t rows : {1, 5, 80}) {
        core::Bytes bytes;
        const std::int64_t size = tensor::traits(dtype).size;
        for (std::int64_t i = 0; i < rows * size; ++i) {
          bytes.push_back(static_cast<std::uint8_t>(dtype == DType::kBool ? i % 2 : i * 37 + 1));
        }
        expect_equal_to_ref(
            {.name = "Expand",
             .attributes = {},
             .inputs = {Tensor::copy_of({dtype, {1, 1, rows, 1}}, bytes), list({2, 3, rows, last})},
             .constants = {}});
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
