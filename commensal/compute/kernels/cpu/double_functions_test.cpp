// SPDX-License-Identifier: Apache-2.0
// Functions of doubles, a vector at a time, against math/binary64.hpp one by one.
#include <cmath>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSpecials[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                kInfinity,
                                -kInfinity,
                                std::numeric_limits<double>::quiet_NaN(),
                                0x1p-1074,
                                -0x1p-1074,
                                0x1p-1022,
                                0x1.fffffffffffffp+1023,
                                22,
                                -22,
                                709.78,
                                710.5,
                                -745.13,
                                -746.5,
                                0x1.921fb54442d18p-1,  // pi / 4
                                0x1.921fb54442d18p+0,  // pi / 2
                                0x1.6a09e667f3bcdp+0,  // sqrt(2)
                                0x1.0000000000001p+0,
                                0x1.fffffffffffffp-1,
                                0x1p53,
                                -3,
                                0.25,
                                -0.5};

/// Of all magnitudes that matter: bit patterns, neighbours of 1, small ones, some hundreds,
/// whole numbers, special ones.
Tensor doubles_of_all_kinds(const Shape& shape, std::uint64_t seed) {
  core::CounterRng rng(seed, 3);
  std::vector<double> data;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::uint64_t word = rng.next_u32() | std::uint64_t{rng.next_u32()} << 32;
    const std::uint32_t kind = rng.next_u32();
    const double unit = static_cast<double>(static_cast<std::int64_t>(word)) * 0x1p-63;
    const auto power = [&](int range) {
      return std::ldexp(1.0, static_cast<int>(word % 64) - range);
    };
    const double kinds[] = {std::bit_cast<double>(word),
                            1 + unit * power(64),
                            unit * power(40),
                            unit * 4,
                            unit * 760,
                            std::nearbyint(unit * 40),
                            kSpecials[word % std::size(kSpecials)]};
    data.push_back(kinds[kind % std::size(kinds)]);
  }
  return Tensor::of<double>(shape, data);
}

TEST(EqualityDoubleFunctions, OfOne) {
  for (const std::string_view name :
       {"Abs", "Ceil", "Cos", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Round",
        "Sigmoid", "Sin", "Sqrt", "Tanh"}) {
    for (const std::int64_t count : {1, 7, 8, 9, 31, 30011}) {
      SCOPED_TRACE(fmt::format("{} {}", name, count));
      expect_equal_to_ref({.name = name,
                           .attributes = {},
                           .inputs = {doubles_of_all_kinds({count}, 5)},
                           .constants = {},
                           .serves = true});
    }
  }
}

TEST(EqualityDoubleFunctions, Pow) {
  const Shape shapes[][2] = {{{40013}, {40013}}, {{5, 77}, {77}}, {{5, 77}, {5, 1}},
                             {{1}, {300}},       {{300}, {1}},    {{3}, {3}}};
  for (const auto& [base, exponent] : shapes) {
    SCOPED_TRACE(fmt::format("{} {}", base.text(), exponent.text()));
    expect_equal_to_ref(
        {.name = "Pow",
         .attributes = {},
         .inputs = {doubles_of_all_kinds(base, 1), doubles_of_all_kinds(exponent, 2)},
         .constants = {},
         .serves = true});
  }
}

/// Rows of all kinds would all be NaN.
Tensor doubles_in_rows(const Shape& shape, std::uint64_t seed) {
  const Tensor all = doubles_of_all_kinds(shape, seed);
  std::vector<double> data;
  for (const double x : all.data<double>()) {
    const bool is_rare = std::ssize(data) % 1009 == 17;
    data.push_back(is_rare || (std::abs(x) < 800 && x == x) ? x : 0.75);
  }
  return Tensor::of<double>(shape, data);
}

TEST(EqualityDoubleFunctions, RowsOfThem) {
  const Shape shapes[] = {{3, 700}, {70, 9}, {5, 3, 40}, {1, 9001}, {2, 1}, {2, 2500, 3}};
  for (const Shape& shape : shapes) {
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
      for (const std::string_view name : {"Softmax", "LogSoftmax", "ReduceLogSumExp"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, shape.text(), axis));
        Case test{.name = name,
                  .opset = 13,
                  .attributes = {},
                  .inputs = {doubles_in_rows(shape, 9)},
                  .constants = {},
                  .serves = true};
        if (name == "ReduceLogSumExp") {
          test.attributes.set("axes", std::vector<std::int64_t>{axis});
        } else {
          test.attributes.set("axis", axis);
        }
        expect_equal_to_ref(test);
      }
    }
  }
}

TEST(EqualityDoubleFunctions, RowsOfInfinities) {
  for (const double all : {kInfinity, -kInfinity}) {
    const std::vector<double> data(24, all);
    for (const std::string_view name : {"Softmax", "LogSoftmax", "ReduceLogSumExp"}) {
      expect_equal_to_ref({.name = name,
                           .attributes = {},
                           .inputs = {Tensor::of<double>({4, 6}, data)},
                           .constants = {}});
    }
  }
}

TEST(EqualityDoubleFunctions, LogSumExpOfSeveralAxes) {
  Case test{.name = "ReduceLogSumExp",
            .opset = 13,
            .attributes = {},
            .inputs = {doubles_in_rows({3, 5, 7, 400}, 4)},
            .constants = {},
            .serves = true};
  for (const std::vector<std::int64_t>& axes :
       {std::vector<std::int64_t>{0, 2}, {1, 3}, {0, 1, 2, 3}, {0, 3}}) {
    test.attributes.set("axes", axes);
    expect_equal_to_ref(test);
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
