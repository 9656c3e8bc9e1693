// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <string>
#include <vector>

/// For tests: calls of Conv that every fast back end must answer as ref/ does.
namespace commensal::kernels::cpu::testing {

using Ints = std::vector<std::int64_t>;

struct ConvCase {
  std::string_view what;
  tensor::Shape x, w;
  Ints strides = {}, pads = {}, dilations = {};
  std::int64_t group = 1;
  std::string auto_pad = "NOTSET";
};

inline std::vector<ConvCase> direct_convs() {
  return {
      {"stem", {1, 3, 37, 41}, {13, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}},
      {"pointwise", {2, 20, 9, 11}, {17, 20, 1, 1}},
      {"pointwise, a whole tile", {1, 8, 8, 6}, {16, 8, 1, 1}},
      {"pointwise, strided", {1, 20, 14, 14}, {17, 20, 1, 1}, {2, 2}},
      {"few channels", {3, 5, 13, 50}, {9, 5, 3, 3}, {}, {1, 1, 1, 1}},
      {"strided", {1, 32, 15, 15}, {8, 32, 3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"uneven strides", {1, 4, 20, 31}, {5, 4, 3, 2}, {3, 4}, {0, 1, 2, 0}},
      {"dilated", {2, 18, 17, 17}, {7, 18, 3, 3}, {}, {2, 2, 2, 2}, {2, 2}},
      {"groups", {2, 12, 10, 10}, {18, 4, 3, 3}, {}, {1, 1, 1, 1}, {}, 3},
      {"groups, wide kernel", {1, 8, 27, 27}, {24, 4, 5, 5}, {}, {2, 2, 2, 2}, {}, 2},
      {"deep", {1, 100, 7, 7}, {20, 100, 3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"pads beyond the kernel", {1, 3, 4, 4}, {4, 3, 2, 2}, {}, {3, 3, 3, 3}},
      {"same, upper", {1, 3, 10, 13}, {4, 3, 4, 4}, {2, 3}, {}, {}, 1, "SAME_UPPER"},
      {"one dimension", {2, 6, 100}, {5, 6, 5}, {2}, {2, 2}},
      {"three dimensions", {1, 2, 5, 6, 7}, {3, 2, 2, 2, 2}},
      {"three dimensions, padded",
       {2, 6, 6, 9, 19},
       {10, 3, 3, 3, 2},
       {1, 2, 1},
       {1, 1, 1, 1, 1, 0},
       {2, 1, 1},
       2},
      {"pointwise, three dimensions", {1, 6, 3, 5, 7}, {9, 6, 1, 1, 1}},
      {"one pixel", {1, 64, 1, 1}, {48, 64, 1, 1}},
  };
}

/// Of more dimensions than cards take.
inline std::vector<ConvCase> high_convs() {
  return {
      {"four dimensions", {1, 3, 3, 4, 5, 6}, {4, 3, 2, 3, 2, 3}, {}, {1, 0, 1, 0, 0, 1, 1, 1}},
  };
}

/// Kernels nearly as large as the picture, as gradients of weights have them.
inline std::vector<ConvCase> few_places_convs() {
  return {
      {"3x3", {13, 8, 28, 28}, {20, 8, 28, 28}, {}, {1, 1, 1, 1}},
      {"3x3, few channels", {3, 5, 9, 11}, {33, 5, 9, 11}, {}, {1, 1, 1, 1}},
      {"strided", {9, 3, 17, 17}, {5, 3, 9, 9}, {}, {1, 1, 1, 1}, {2, 2}},
      {"7x7", {3, 8, 40, 40}, {16, 8, 20, 20}, {}, {3, 3, 2, 2}, {2, 2}},
      {"pointwise, many channels", {7, 70, 10, 10}, {18, 70, 10, 10}},
      {"places apart", {4, 6, 14, 14}, {7, 6, 11, 11}, {2, 3}, {1, 0, 2, 1}},
      {"one dimension", {8, 12, 50}, {16, 12, 48}, {}, {1, 0}},
      {"more steps than a piece", {2, 600, 6, 6}, {8, 600, 5, 5}, {}, {}},
  };
}

inline std::vector<ConvCase> depthwise_convs() {
  return {
      {"stride 1", {2, 7, 19, 23}, {7, 1, 3, 3}, {}, {1, 1, 1, 1}, {}, 7},
      {"stride 2", {1, 9, 30, 40}, {9, 1, 3, 3}, {2, 2}, {1, 1, 1, 1}, {}, 9},
      {"stride 3, dilated", {1, 4, 30, 40}, {4, 1, 3, 3}, {1, 3}, {2, 2, 1, 0}, {2, 2}, 4},
      {"multiplier", {1, 5, 12, 12}, {10, 1, 5, 5}, {}, {2, 2, 2, 2}, {}, 5},
      {"unpadded", {3, 6, 9, 70}, {6, 1, 3, 3}, {}, {}, {}, 6},
      {"stride 5", {1, 4, 30, 40}, {4, 1, 3, 3}, {5, 5}, {1, 1, 1, 1}, {}, 4},
      {"one dimension", {1, 4, 33}, {4, 1, 3}, {2}, {1, 1}, {}, 4},
      {"three dimensions", {1, 4, 5, 7, 18}, {8, 1, 3, 3, 3}, {2, 1, 1}, {1, 1, 1, 1, 1, 1}, {}, 4},
  };
}

inline std::vector<ConvCase> winograd_convs() {
  return {
      {"F(4x4)", {1, 16, 13, 13}, {16, 16, 3, 3}, {}, {1, 1, 1, 1}},
      {"F(4x4), odd", {2, 17, 19, 30}, {21, 17, 3, 3}, {}, {1, 1, 1, 1}},
      {"F(4x4), unpadded", {1, 16, 40, 21}, {9, 16, 3, 3}},
      {"F(4x4), blocks", {2, 64, 56, 56}, {64, 64, 3, 3}, {}, {1, 1, 1, 1}},
      {"F(4x4), uneven pads", {1, 16, 14, 15}, {8, 16, 3, 3}, {}, {2, 0, 1, 3}},
      {"F(2x2)", {1, 24, 7, 7}, {30, 24, 3, 3}, {}, {1, 1, 1, 1}},
      {"F(2x2), batch", {8, 16, 7, 5}, {8, 16, 3, 3}, {}, {1, 1, 1, 1}},
      {"F(2x2), wide", {1, 16, 6, 100}, {8, 16, 3, 3}, {}, {0, 1, 0, 1}},
      {"F(2x2), deep", {1, 300, 7, 7}, {40, 300, 3, 3}, {}, {1, 1, 1, 1}},
      {"F(2x2), one pixel", {1, 16, 1, 1}, {8, 16, 3, 3}, {}, {1, 1, 1, 1}},
  };
}

/// Lists that are empty are left to their default.
inline void set_attributes(Case& test, const ConvCase& c) {
  const auto set = [&](const char* name, const Ints& list) {
    if (!list.empty()) test.attributes.set(name, list);
  };
  set("strides", c.strides);
  set("pads", c.pads);
  set("dilations", c.dilations);
  test.attributes.set("group", c.group);
  test.attributes.set("auto_pad", c.auto_pad);
}

inline void check_conv(const ConvCase& c, Values x_values, Values w_values, bool has_bias,
                       const CheckCase& check) {
  SCOPED_TRACE(fmt::format("{}: {} {}", c.what, c.x.text(), c.w.text()));
  Case test{.name = "Conv", .attributes = {}, .inputs = {}, .constants = {1}};
  set_attributes(test, c);
  test.inputs = {random_tensor(c.x, 1, x_values), random_tensor(c.w, 2, w_values)};
  if (has_bias) test.inputs.push_back(random_tensor({c.w[0]}, 3, x_values));
  test.serves = w_values != Values::kSpecial;  // taps in the padding are no products of 0 then
  check(test);
}

/// Each with plain, subnormal and special values.
inline void check_convs(const std::vector<ConvCase>& cases, const CheckCase& check) {
  for (const ConvCase& c : cases) {
    check_conv(c, Values::kPlain, Values::kPlain, true, check);
    check_conv(c, Values::kPlain, Values::kPlain, false, check);
    if (c.w.elements() < 20000) {  // subnormal arithmetic is slow
      check_conv(c, Values::kTiny, Values::kTiny, true, check);
    }
    check_conv(c, Values::kSpecial, Values::kPlain, true, check);
    check_conv(c, Values::kSpecial, Values::kSpecial, true, check);  // padded taps are skipped
  }
}

inline void check_batched_convs(const CheckCase& check) {
  for (std::int64_t n = 1; n <= 8; ++n) {
    check_conv({"direct", {n, 3, 9, 9}, {4, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}}, Values::kPlain,
               Values::kPlain, true, check);
    check_conv({"winograd", {n, 16, 9, 9}, {4, 16, 3, 3}, {}, {1, 1, 1, 1}}, Values::kPlain,
               Values::kPlain, true, check);
  }
}

inline void check_random_convs(int rounds, const CheckCase& check) {
  core::CounterRng rng(42);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(rng.next_u32()) % (most - least + 1);
  };
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t group = draw(0, 3) == 0 ? draw(2, 4) : 1, channels = draw(1, 24);
    const std::int64_t kh = draw(1, 4), kw = draw(1, 4), dilation = draw(1, 2);
    const ConvCase c{"random",
                     {draw(1, 3), group * channels, draw(kh * 2, 30), draw(kw * 2, 60)},
                     {group * draw(1, 20), channels, kh, kw},
                     {draw(1, 3), draw(1, 3)},
                     {draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2)},
                     {dilation, dilation},
                     group};
    const Values w_values = draw(0, 5) == 0 ? Values::kSpecial : Values::kPlain;
    check_conv(c, draw(0, 1) == 0 ? Values::kPlain : Values::kSpecial, w_values, draw(0, 1) == 0,
               check);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace commensal::kernels::cpu::testing
