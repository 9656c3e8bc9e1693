// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/elementwise_cases.hpp>

namespace commensal::kernels::cpu {
namespace {

using tensor::Shape;

constexpr std::string_view kUnaryNames[] = {"Clip", "Erf",     "Exp",  "LeakyRelu", "Log",
                                            "Relu", "Sigmoid", "Sqrt", "Softplus",  "Tanh"};
constexpr std::string_view kBinaryNames[] = {"Add", "Div", "Mul", "Sub"};

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
