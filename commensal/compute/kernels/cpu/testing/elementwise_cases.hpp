// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/testing/equality.hpp>

/// For tests: calls of elementwise operators and of Softmax that every fast back end must answer as
/// ref/ does.
namespace commensal::kernels::cpu::testing {

/// Every exponent, both signs, special values: what a function of one element can meet.
inline Tensor wide_values(std::int64_t count) {
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

/// A function of one input.
inline void check_function(std::string_view name, const CheckCase& check) {
  for (const std::int64_t count : {1, 5, 16, 31, 40000}) {
    check({.name = name,
           .opset = 14,
           .attributes = {},
           .inputs = {wide_values(count)},
           .constants = {}});
  }
}

/// A function of two inputs.
inline void check_broadcasts(std::string_view name, const CheckCase& check) {
  const tensor::Shape shapes[][2] = {
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
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(a.text() + b.text());
    const Values values = a.elements() > 10000 ? Values::kPlain : Values::kSpecial;
    const Tensor x = random_tensor(a, 1, values), y = random_tensor(b, 2, values);
    check({.name = name, .attributes = {}, .inputs = {x, y}, .constants = {}});
    check({.name = name, .attributes = {}, .inputs = {y, x}, .constants = {}});
  }
}

inline void check_softmaxes(const CheckCase& check) {
  for (const Values values : {Values::kPlain, Values::kSpecial}) {
    for (std::int64_t n = 1; n <= 70; ++n) {
      check({.name = "Softmax",
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
    check(middle);
    middle.opset = 13;  // along a strided axis
    check(middle);
  }
  // Differences whose powers are subnormal or nothing.
  std::vector<float> far;
  for (int i = 0; i < 40000; ++i) {
    far.push_back((i % 3 == 0   ? -86.0f
                   : i % 5 == 0 ? -103.5f
                                : -90.0f) *
                      (i % 50 == 7 ? 0.0f : 1.0f) +
                  4 * core::counter_symmetric_f32(5, 1, static_cast<std::uint64_t>(i)));
  }
  check({.name = "Softmax",
         .attributes = {},
         .inputs = {Tensor::of<float>({800, 50}, far)},
         .constants = {}});
  check({.name = "Softmax",
         .attributes = {},
         .inputs = {random_tensor({1, 4420, 2}, 8)},
         .constants = {}});
}

}  // namespace commensal::kernels::cpu::testing
