// SPDX-License-Identifier: Apache-2.0
// What the loops of ref/ run a block at a time (ref/wide.hpp): rows longer than a block, which must
// have the bits of the elements one after another.
#include <cmath>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Bfloat16;
using tensor::DType;
using tensor::Float16;
using tensor::Shape;

constexpr std::int64_t kLong = 64 * 5 + 13;
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                            DType::kInt8,    DType::kInt16,   DType::kInt32,   DType::kInt64,
                            DType::kUint8,   DType::kUint16,  DType::kUint32,  DType::kUint64,
                            DType::kBool};

Attributes to_type(DType type) {
  Attributes made;
  made.set("to", static_cast<std::int64_t>(type));
  return made;
}
/// By the judge.
Tensor first_of(kernels::testing::Sample sample) {
  kernels::testing::SampleCall call(std::move(sample));
  EXPECT_TRUE(call.infer().has_value());
  return call.run_ref().at(0);
}
Tensor cast(const Tensor& x, DType to) { return first_of({"Cast", 13, {x}, to_type(to)}); }

void check(std::string_view name, std::vector<Tensor> inputs, Attributes attributes = {}) {
  expect_equal_to_ref({.name = name,
                       .opset = 16,
                       .attributes = std::move(attributes),
                       .inputs = std::move(inputs),
                       .constants = {}});
}

// From 1/2 up to what no type holds but the widest floats, of both signs, some between integers.
Tensor powers() {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < kLong; ++i) {
    const float sign = i % 2 == 0 ? 1.0f : -1.0f;
    numbers.push_back(sign * std::exp2(static_cast<float>(i % 67) - 1.0f) * 1.25f);
  }
  return Tensor::of<float>({kLong}, numbers);
}
Tensor row(std::uint64_t seed) { return random_tensor({kLong}, seed, Values::kSpecial); }

TEST(Wide, CastsBetweenAllTypes) {
  for (const Tensor& x : {powers(), row(5), random_tensor({kLong}, 6)}) {
    for (const DType from : kTypes) {
      const Tensor given = cast(x, from);
      for (const DType to : kTypes) {
        SCOPED_TRACE(fmt::format("{} to {}", traits(from).name, traits(to).name));
        check("Cast", {given}, to_type(to));
        check("CastLike", {given, cast(random_tensor({1}, 1), to)});
      }
    }
  }
}

TEST(Wide, ChoosesAndComparesEveryType) {
  const Tensor chosen = cast(random_tensor({kLong}, 7), DType::kInt8);
  const Tensor condition = first_of({"Equal", 13, {chosen, cast(row(8), DType::kInt8)}});
  const Tensor one = cast(random_tensor({1}, 9, Values::kSpecial), DType::kFloat32);
  for (const DType type : kTypes) {
    SCOPED_TRACE(traits(type).name);
    const Tensor x = cast(row(10), type), y = cast(row(11), type);
    check("Where", {condition, x, y});
    check("Where", {condition, x, cast(one, type)});
    check("Where", {condition, cast(one, type), y});
    check("Equal", {x, y});
    if (type == DType::kBool) continue;
    for (const auto* name : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
      check(name, {x, y});
      check(name, {x, cast(one, type)});
    }
  }
}

TEST(Wide, FindsInfinities) {
  for (const std::int64_t positive : {0, 1}) {
    for (const std::int64_t negative : {0, 1}) {
      Attributes asked;
      asked.set("detect_positive", positive);
      asked.set("detect_negative", negative);
      for (const DType type : {DType::kFloat32, DType::kFloat64}) {
        check("IsInf", {cast(row(12), type)}, asked);
      }
    }
  }
}

TEST(Wide, AddsUpAcross) {
  const std::int64_t across[] = {0};
  for (const std::int64_t width : {1, 31, 32, 33, 128, 300}) {
    for (const DType type : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt64}) {
      for (const std::int64_t flags : {0, 1, 2, 3}) {
        Attributes asked;
        asked.set("exclusive", flags & 1);
        asked.set("reverse", flags >> 1);
        const Tensor x = random_tensor({7, width}, 13, Values::kSpecial);
        check("CumSum", {cast(x, type), Tensor::of<std::int64_t>({}, across)}, asked);
      }
    }
  }
}

// The judge itself compares 16-bit floats as integers: their order is that of their numbers.
template <class T>
void check_order() {
  constexpr std::uint16_t kOthers[] = {0,      0x8000, 1,      0x8001, 0x3c00, 0xbc00, 0x3f80,
                                       0xbf80, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fff, 0xffff,
                                       0x7bff, 0xfbff, 0x7c01, 0x7f81, 0x0400, 0x0080};
  std::vector<T> all;
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    all.push_back({static_cast<std::uint16_t>(bits)});
  const Tensor x = Tensor::of<T>({65536}, all);
  for (const std::uint16_t other : kOthers) {
    const T y{other};
    const float number = to_float(y);
    const Tensor one = Tensor::of<T>({}, std::span(&y, 1));
    const Tensor less = first_of({"Less", 13, {x, one}}), equal = first_of({"Equal", 13, {x, one}});
    const Tensor more = first_of({"Greater", 13, {x, one}});
    const Tensor not_less = first_of({"GreaterOrEqual", 16, {x, one}});
    const Tensor not_more = first_of({"LessOrEqual", 16, {x, one}});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float a = to_float(all[i]);
      const bool right =
          (less.bytes()[i] != 0) == (a < number) && (equal.bytes()[i] != 0) == (a == number) &&
          (more.bytes()[i] != 0) == (a > number) && (not_less.bytes()[i] != 0) == (a >= number) &&
          (not_more.bytes()[i] != 0) == (a <= number);
      ASSERT_TRUE(right) << fmt::format("{:04x} beside {:04x}", i, other);
    }
  }
}
TEST(Wide, OrdersFloatsOf16Bits) {
  check_order<Float16>();
  check_order<Bfloat16>();
}

}  // namespace
}  // namespace commensal::kernels::cpu
