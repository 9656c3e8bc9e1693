// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using tensor::Shape;

constexpr std::string_view kUnaryNames[] = {"Clip", "Erf",     "Exp",  "LeakyRelu", "Log",
                                            "Relu", "Sigmoid", "Sqrt", "Softplus",  "Tanh"};
constexpr std::string_view kBinaryNames[] = {"Add", "Div", "Mul", "Sub"};

/// Every exponent, both signs, special values: what a function of one element can meet.
Tensor wide_values(std::int64_t count) {
  core::CounterRng rng(11);
  std::vector<float> data;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t word = rng.next_u32();
    data.push_back(i % 50 == 0  ? special_value(word)
                   : i % 2 == 0 ? std::bit_cast<float>(word)
                                : 20.0f * core::counter_symmetric_f32(3, 1, word % 4096));
  }
  return Tensor::of<float>({count}, data);
}

TEST(EqualityUnary, EveryKindOfValue) {
  for (const std::string_view name : kUnaryNames) {
    for (const std::int64_t count : {1, 5, 16, 31, 40000}) {
      expect_equal_to_ref(
          {.name = name, .attributes = {}, .inputs = {wide_values(count)}, .constants = {}});
    }
  }
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

TEST(EqualityBinary, Broadcasts) {
  const Shape shapes[][2] = {
      {{2, 3, 4, 5}, {2, 3, 4, 5}},
      {{2, 3, 17, 5}, {3, 1, 1}},
      {{2, 3, 17, 5}, {}},
      {{1}, {2, 40}},
      {{7, 33}, {33}},
      {{7, 33}, {7, 1}},
      {{4, 1, 6}, {5, 1}},
      {{2, 1, 3, 1}, {1, 4, 1, 5}},
      {{0, 3}, {3}},
      {{}, {}},
      {{1, 64, 56, 56}, {1, 64, 56, 56}},
      {{3, 20000}, {3, 1}},
  };
  for (const std::string_view name : kBinaryNames) {
    for (const auto& [a, b] : shapes) {
      SCOPED_TRACE(a.text() + b.text());
      const Values values = a.elements() > 10000 ? Values::kPlain : Values::kSpecial;
      const Tensor x = random_tensor(a, 1, values), y = random_tensor(b, 2, values);
      expect_equal_to_ref({.name = name, .attributes = {}, .inputs = {x, y}, .constants = {}});
      expect_equal_to_ref({.name = name, .attributes = {}, .inputs = {y, x}, .constants = {}});
    }
  }
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

TEST(EqualityNormalise, Softmax) {
  for (const Values values : {Values::kPlain, Values::kSpecial}) {
    for (std::int64_t n = 1; n <= 70; ++n) {
      expect_equal_to_ref({.name = "Softmax",
                           .attributes = {},
                           .inputs = {random_tensor({3, n}, 6, values)},
                           .constants = {}});
    }
    Case middle{.name = "Softmax",
                .opset = 11,
                .attributes = {},
                .inputs = {random_tensor({2, 3, 50}, 7, values)},
                .constants = {}};
    middle.attributes.set("axis", std::int64_t{1});
    expect_equal_to_ref(middle);
    middle.opset = 13;  // along a strided axis
    expect_equal_to_ref(middle);
  }
  expect_equal_to_ref({.name = "Softmax",
                       .attributes = {},
                       .inputs = {random_tensor({1, 4420, 2}, 8)},
                       .constants = {}});
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
    for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 1, 100, 60}, Shape{2, 0, 3, 1}}) {
      Case test{.name = "Transpose",
                .attributes = {},
                .inputs = {random_tensor(shape, 9, Values::kSpecial)},
                .constants = {}};
      if (!order.empty()) test.attributes.set("perm", order);
      expect_equal_to_ref(test);
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
