// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using Ints = std::vector<std::int64_t>;

struct DeformCase {
  tensor::Shape x, w, out;  // out: height and width
  Ints strides, pads, dilations;
  std::int64_t group = 1, offset_group = 1;
};

const DeformCase kCases[] = {
    {{1, 4, 9, 21}, {5, 4, 3, 3}, {9, 21}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{2, 6, 7, 40}, {4, 3, 3, 2}, {4, 38}, {2, 1}, {1, 0, 1, 0}, {1, 2}, 2, 3},
    {{1, 4, 5, 6}, {6, 2, 1, 1}, {5, 6}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 2, 2},
};

TEST(EqualityDeformConv, OffsetsInAndOutOfTheImage) {
  for (const DeformCase& c : kCases) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      for (const bool has_mask : {false, true}) {
        const std::int64_t taps = c.offset_group * c.w[2] * c.w[3];
        Case test{
            .name = "DeformConv", .opset = 19, .attributes = {}, .inputs = {}, .constants = {1}};
        std::vector<float> offsets;  // of up to four places, some of them whole, some NaN
        const Tensor drawn =
            random_tensor({c.x[0], 2 * taps, c.out[0], c.out[1]}, 3, Values::kSpecial);
        for (const float one : drawn.data<float>()) {
          offsets.push_back(std::abs(one) < 0.2f ? 0 : 4 * one);
        }
        test.inputs = {random_tensor(c.x, 1, values), random_tensor(c.w, 2, values),
                       Tensor::of<float>(drawn.shape(), offsets), random_tensor({c.w[0]}, 4)};
        if (has_mask) {
          test.inputs.push_back(random_tensor({c.x[0], taps, c.out[0], c.out[1]}, 5, values));
        }
        test.attributes.set("strides", c.strides);
        test.attributes.set("pads", c.pads);
        test.attributes.set("dilations", c.dilations);
        test.attributes.set("group", c.group);
        test.attributes.set("offset_group", c.offset_group);
        test.serves = values == Values::kPlain;
        expect_equal_to_ref(test);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
