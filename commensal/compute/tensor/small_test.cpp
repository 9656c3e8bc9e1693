// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/tensor/small.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <limits>
#include <vector>

namespace commensal::tensor {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Known {
  DType dtype;
  int most;                // code of the largest number
  float smallest, normal;  // code 1, and the smallest normal number
  int normal_code;
  float largest;
  bool has_negative_zero;
};
// Written down from the formats' papers.
constexpr Known kKnown[] = {
    {DType::kFloat8E4M3Fn, 0x7e, 0x1p-9f, 0x1p-6f, 0x08, 448, true},
    {DType::kFloat8E4M3FnUz, 0x7f, 0x1p-10f, 0x1p-7f, 0x08, 240, false},
    {DType::kFloat8E5M2, 0x7b, 0x1p-16f, 0x1p-14f, 0x04, 57344, true},
    {DType::kFloat8E5M2FnUz, 0x7f, 0x1p-17f, 0x1p-15f, 0x04, 57344, false},
    {DType::kFloat4E2M1, 0x07, 0.5f, 1, 0x02, 6, true},
};

int from_float(DType dtype, float value, bool saturate = true) {
  return small_from_float(dtype, value, saturate);
}

TEST(SmallFloats, HaveTheNumbersOfTheirFormats) {
  for (const Known& known : kKnown) {
    const auto number = [&](int code) {
      return small_to_float(known.dtype, static_cast<std::uint8_t>(code));
    };
    EXPECT_EQ(number(0), 0);
    EXPECT_EQ(number(1), known.smallest);
    EXPECT_EQ(number(known.normal_code), known.normal);
    EXPECT_EQ(number(known.most), known.largest);
    // Up to the first normal number the steps are equal; later none is larger than the one before
    // it relative to the number.
    for (int code = 1; code < known.normal_code; ++code) {
      EXPECT_EQ(number(code), static_cast<float>(code) * known.smallest);
    }
    for (int code = known.normal_code; code < known.most; ++code) {
      EXPECT_LT(number(code), number(code + 1));
      EXPECT_LE(number(code + 1), number(code) * 1.5f);
    }
  }
  const float fours[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    const float value = small_to_float(DType::kFloat4E2M1, static_cast<std::uint8_t>(code));
    EXPECT_EQ(value, code < 8 ? fours[code] : -fours[code - 8]);
    EXPECT_EQ(std::signbit(value), code >= 8);
  }
}

TEST(SmallFloats, ComeBackAsTheyWere) {
  for (const Known& known : kKnown) {
    const int sign = is_four_bits(known.dtype) ? 8 : 128;
    for (int code = 0; code <= known.most; ++code) {
      const float value = small_to_float(known.dtype, static_cast<std::uint8_t>(code));
      EXPECT_EQ(from_float(known.dtype, value), code);
      EXPECT_EQ(from_float(known.dtype, value, false), code);
      const int negative = code == 0 && !known.has_negative_zero ? 0 : sign + code;
      EXPECT_EQ(from_float(known.dtype, -value), negative);
      if (negative == 0) continue;
      EXPECT_EQ(small_to_float(known.dtype, static_cast<std::uint8_t>(negative)), -value);
    }
  }
}

// Between two neighbours: the middle goes to the even code, all else to the nearer one.
TEST(SmallFloats, RoundToNearestEven) {
  for (const Known& known : kKnown) {
    for (int code = 0; code < known.most; ++code) {
      const float low = small_to_float(known.dtype, static_cast<std::uint8_t>(code));
      const float high = small_to_float(known.dtype, static_cast<std::uint8_t>(code + 1));
      const float middle = (low + high) / 2;
      const int even = code % 2 == 0 ? code : code + 1;
      EXPECT_EQ(from_float(known.dtype, middle), even) << code;
      EXPECT_EQ(from_float(known.dtype, std::nextafter(middle, 0.0f)), code);
      EXPECT_EQ(from_float(known.dtype, std::nextafter(middle, kInfinity)), code + 1);
    }
    EXPECT_EQ(from_float(known.dtype, std::numeric_limits<float>::denorm_min()), 0);
  }
}

TEST(SmallFloats, SaturateOrNot) {
  struct Row {
    DType dtype;
    float value;
    int saturated, plain;
  };
  const Row rows[] = {
      {DType::kFloat8E4M3Fn, 464, 0x7e, 0x7e},  // a tie, down to the largest number
      {DType::kFloat8E4M3Fn, 464.5f, 0x7e, 0x7f},
      {DType::kFloat8E4M3Fn, -1e6f, 0xfe, 0x7f},
      {DType::kFloat8E4M3Fn, kInfinity, 0x7e, 0x7f},
      {DType::kFloat8E4M3Fn, kNan, 0x7f, 0x7f},
      {DType::kFloat8E4M3FnUz, 248, 0x7f, 0x80},  // a tie, up and out
      {DType::kFloat8E4M3FnUz, -kInfinity, 0xff, 0x80},
      {DType::kFloat8E4M3FnUz, -kNan, 0x80, 0x80},
      {DType::kFloat8E5M2, 61440, 0x7b, 0x7c},
      {DType::kFloat8E5M2, std::numeric_limits<float>::max(), 0x7b, 0x7c},
      {DType::kFloat8E5M2, -kInfinity, 0xfb, 0xfc},
      {DType::kFloat8E5M2, kNan, 0x7e, 0x7e},
      {DType::kFloat8E5M2FnUz, -1e6f, 0xff, 0x80},
      {DType::kFloat4E2M1, 1e6f, 0x7, 0x7},
      {DType::kFloat4E2M1, -kInfinity, 0xf, 0xf},
      {DType::kFloat4E2M1, kNan, 0x8, 0x8},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(from_float(row.dtype, row.value, true), row.saturated) << row.value;
    EXPECT_EQ(from_float(row.dtype, row.value, false), row.plain) << row.value;
  }
  EXPECT_TRUE(std::isnan(small_to_float(DType::kFloat8E4M3Fn, 0xff)));
  EXPECT_TRUE(std::isnan(small_to_float(DType::kFloat8E4M3FnUz, 0x80)));
  EXPECT_TRUE(std::isnan(small_to_float(DType::kFloat8E5M2, 0x7d)));
  EXPECT_EQ(small_to_float(DType::kFloat8E5M2, 0xfc), -kInfinity);
}

TEST(SmallFloats, PowersOfTwo) {
  constexpr DType kPower = DType::kFloat8E8M0;
  for (int code = 0; code < 255; ++code) {
    const float value = small_to_float(kPower, static_cast<std::uint8_t>(code));
    EXPECT_EQ(value, std::ldexp(1.0f, code - 127));
    for (const PowerRounding way :
         {PowerRounding::kUp, PowerRounding::kDown, PowerRounding::kNearest}) {
      EXPECT_EQ(small_from_float(kPower, value, false, way), code);
    }
  }
  EXPECT_TRUE(std::isnan(small_to_float(kPower, 255)));
  const auto round = [](float value, PowerRounding way) {
    return static_cast<int>(small_from_float(kPower, value, true, way)) - 127;
  };
  EXPECT_EQ(round(1.001f, PowerRounding::kUp), 1);
  EXPECT_EQ(round(1.999f, PowerRounding::kDown), 0);
  EXPECT_EQ(round(1.499f, PowerRounding::kNearest), 0);
  EXPECT_EQ(round(1.5f, PowerRounding::kNearest), 1);
  EXPECT_EQ(from_float(kPower, 0), 0);
  EXPECT_EQ(from_float(kPower, 0, false), 255);
  EXPECT_EQ(from_float(kPower, 0x1p-130f), 0);
  EXPECT_EQ(from_float(kPower, 0x1p-130f, false), 255);
  EXPECT_EQ(from_float(kPower, 0x1.8p127f), 254);
  EXPECT_EQ(from_float(kPower, 0x1.8p127f, false), 255);
  EXPECT_EQ(from_float(kPower, kInfinity), 254);
  EXPECT_EQ(from_float(kPower, -1), 255);
  EXPECT_EQ(from_float(kPower, kNan), 255);
}

TEST(SmallFloats, FourBitIntegers) {
  for (int bits = 0; bits < 16; ++bits) {
    const auto code = static_cast<std::uint8_t>(bits);
    EXPECT_EQ(int4_value(code), bits < 8 ? bits : bits - 16);
    EXPECT_EQ(small_to_float(DType::kInt4, code), static_cast<float>(int4_value(code)));
    EXPECT_EQ(small_to_float(DType::kUint4, code), static_cast<float>(bits));
    EXPECT_EQ(four_bits(int4_value(code)), bits);
  }
  EXPECT_EQ(four_bits(-9), 7);
}

TEST(Elements, AreChecked) {
  const std::vector<std::uint8_t> fifteen = {0, 1, 15}, sixteen = {0, 16};
  for (const DType dtype : {DType::kUint4, DType::kInt4, DType::kFloat4E2M1}) {
    EXPECT_TRUE(check_elements(dtype, fifteen));
    EXPECT_FALSE(check_elements(dtype, sixteen));
  }
  EXPECT_FALSE(check_elements(DType::kBool, fifteen));
  EXPECT_TRUE(check_elements(DType::kFloat8E8M0, sixteen));
}

}  // namespace
}  // namespace commensal::tensor
