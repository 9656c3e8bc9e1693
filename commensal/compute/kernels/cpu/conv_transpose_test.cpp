// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/conv_cases.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;

const ConvCase kCases[] = {
    {"stride 2", {1, 6, 9, 21}, {6, 5, 4, 4}, {2, 2}, {1, 1, 1, 1}},
    {"stride 2, odd kernel", {2, 3, 8, 17}, {3, 9, 3, 3}, {2, 2}, {1, 1, 1, 1}},
    {"no tap for some", {1, 3, 5, 7}, {3, 4, 2, 2}, {3, 4}},
    {"pads beyond the kernel", {1, 3, 9, 9}, {3, 4, 2, 3}, {1, 1}, {3, 2, 1, 3}},
    {"uneven pads", {1, 4, 7, 18}, {4, 3, 5, 4}, {3, 2}, {0, 2, 3, 1}},
    {"depthwise", {2, 5, 9, 19}, {5, 1, 4, 4}, {2, 2}, {1, 1, 1, 1}, {}, 5},
    {"depthwise, multiplier", {1, 4, 6, 33}, {4, 3, 3, 3}, {1, 3}, {}, {}, 4},
    {"groups", {1, 8, 6, 10}, {8, 3, 3, 3}, {2, 1}, {1, 1, 1, 1}, {}, 2},
    {"dilated", {1, 4, 7, 9}, {4, 5, 3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {"dilated and strided", {1, 4, 7, 9}, {4, 5, 3, 4}, {4, 3}, {1, 0, 2, 1}, {2, 2}},
    {"dilated, depthwise", {1, 4, 7, 20}, {4, 1, 3, 4}, {2, 4}, {}, {3, 6}, 4},
    {"one dimension", {2, 6, 50}, {6, 7, 16}, {8}, {4, 4}},
    {"one dimension, long kernel", {1, 2, 200}, {2, 1, 160}, {1}, {80, 79}},
    {"three dimensions", {1, 3, 4, 5, 18}, {3, 4, 3, 2, 4}, {2, 1, 2}, {1, 0, 1, 0, 1, 1}},
    {"three dimensions, depthwise", {1, 3, 4, 5, 18}, {3, 1, 3, 2, 2}, {2, 2, 2}, {}, {}, 3},
};

TEST(EqualityConvTranspose, OfAnyRankStrideAndDilation) {
  for (const ConvCase& c : kCases) {
    SCOPED_TRACE(c.what);
    for (const Values x : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      for (const Values w : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
        Case test{.name = "ConvTranspose", .attributes = {}, .inputs = {}, .constants = {1}};
        set_attributes(test, c);
        test.inputs = {random_tensor(c.x, 1, x), random_tensor(c.w, 2, w)};
        if (w != Values::kTiny) test.inputs.push_back(random_tensor({c.w[1] * c.group}, 3, x));
        test.serves = w != Values::kSpecial;
        expect_equal_to_ref(test);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
