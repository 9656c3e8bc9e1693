// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::DType;

constexpr Values kAllValues[] = {Values::kPlain, Values::kSpecial, Values::kTiny};

Tensor integer(std::int64_t value) { return Tensor::of<std::int64_t>({}, std::array{value}); }

// As bfloat16, which all bits of a float's upper half are.
Tensor halved(const Tensor& from) {
  std::vector<std::uint8_t> bytes;
  for (const float x : from.data<float>()) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    bytes.push_back(static_cast<std::uint8_t>(bits >> 16));
    bytes.push_back(static_cast<std::uint8_t>(bits >> 24));
  }
  return Tensor::copy_of({DType::kBfloat16, from.shape()}, bytes);
}

struct DftCase {
  tensor::Shape x;
  std::int64_t axis = 1;
  std::int64_t length = 0;  // 0: the axis'
};

// Every length of a vector's and a panel's rest, blocks of depth, lines side by side, none at all.
const DftCase kDftCases[] = {
    {{1, 1, 1}},          {{2, 2, 2}},         {{3, 3, 1}},
    {{2, 5, 2}},          {{9, 8, 1}},         {{5, 13, 2}},
    {{2, 24, 1}},         {{17, 31, 2}},       {{1, 200, 1}},
    {{3, 401, 1}},        {{2, 257, 2}},       {{5, 64, 1}, 0},
    {{7, 3, 2}, 0},       {{2, 9, 5, 2}},      {{2, 3, 20, 17, 1}, 2},
    {{3, 12, 1}, 1, 7},   {{3, 12, 2}, 1, 29}, {{2, 6, 3, 1}, 1, 50},
    {{2, 0, 3, 1}, 1, 5}, {{0, 4, 2}},         {{1, 2300, 1}, 1, 2200},
};

void check_dft(const DftCase& c, Values values, bool inverse, bool onesided, bool halves) {
  const Tensor x = random_tensor(c.x, 1, values);
  const std::int64_t length = c.length == 0 ? c.x[static_cast<int>(c.axis)] : c.length;
  Case test{.name = "DFT",
            .opset = 20,
            .attributes = {},
            .inputs = {halves ? halved(x) : x},
            .constants = {}};
  test.inputs.insert(test.inputs.end(), {integer(length), integer(c.axis)});
  test.attributes.set("inverse", std::int64_t{inverse ? 1 : 0});
  test.attributes.set("onesided", std::int64_t{onesided ? 1 : 0});
  SCOPED_TRACE(fmt::format("{} axis={} length={} inverse={} onesided={}", x.type().text(), c.axis,
                           length, inverse, onesided));
  expect_equal_to_ref(test);
}

TEST(EqualityFourier, AlongAnyAxis) {
  for (const DftCase& c : kDftCases) {
    const bool complex = c.x[c.x.rank() - 1] == 2;
    const bool is_long = c.length > 1000;  // for the plain loops
    for (const Values values : kAllValues) {
      if (is_long && values != Values::kTiny) continue;
      check_dft(c, values, false, false, false);
      if (!is_long) check_dft(c, values, true, false, false);
      if (!complex) check_dft(c, values, false, true, false);
      if (HasFailure()) return;
    }
    if (!is_long) check_dft(c, Values::kPlain, true, false, true);
    if (HasFailure()) return;
  }
}

struct StftCase {
  tensor::Shape x;
  std::int64_t step = 1, length = 1;
  bool has_window = true, onesided = true;
};

const StftCase kStftCases[] = {
    {{1, 1, 1}, 1, 1},
    {{2, 40, 1}, 3, 16},
    {{1, 300, 1}, 7, 50, false},
    {{2, 64, 1}, 5, 33, true, false},
    {{3, 47, 2}, 2, 12, true, false},
    {{1, 500, 1}, 160, 400},
    {{1, 90, 2}, 90, 61, false, false},
    {{1, 3000, 1}, 700, 1500},
};

TEST(EqualityFourier, OfFrames) {
  for (const StftCase& c : kStftCases) {
    for (const Values values : kAllValues) {
      const Tensor x = random_tensor(c.x, 1, values), window = random_tensor({c.length}, 2, values);
      for (const bool halves : {false, true}) {
        Case test{.name = "STFT",
                  .opset = 17,
                  .attributes = {},
                  .inputs = {halves ? halved(x) : x},
                  .constants = {}};
        test.inputs.push_back(integer(c.step));
        test.inputs.push_back(!c.has_window ? Tensor() : halves ? halved(window) : window);
        test.inputs.push_back(integer(c.length));
        test.attributes.set("onesided", std::int64_t{c.onesided ? 1 : 0});
        SCOPED_TRACE(fmt::format("{} step={} length={}", x.type().text(), c.step, c.length));
        expect_equal_to_ref(test);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
