// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;

Tensor sizes_of(const Shape& shape) {
  const std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims);
}

Tensor as_doubles(const Tensor& x) {
  const auto from = x.data<float>();
  return Tensor::of<double>(x.shape(), std::vector<double>(from.begin(), from.end()));
}

// Rows that several lines read, and rows that few do; smaller and larger, along any axes.
TEST(EqualityResize, LinesShareRows) {
  const Shape shapes[][2] = {
      {{2, 3, 40, 37}, {2, 3, 19, 20}}, {{1, 2, 14, 15}, {1, 2, 28, 45}},
      {{1, 2, 60, 20}, {1, 2, 7, 40}},  {{1, 1, 5, 70}, {1, 1, 31, 9}},
      {{2, 9, 8, 7}, {2, 5, 17, 3}},    {{1, 3, 6, 5, 9}, {1, 3, 12, 4, 18}},
      {{3, 8, 20}, {3, 16, 20}},
  };
  for (const auto& [from, to] : shapes) {
    for (const std::string mode : {"linear", "cubic"}) {
      for (const std::int64_t antialias : {0, 1}) {
        for (const std::int64_t outside : {0, 1}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", from.text(), to.text(), mode, antialias));
          for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
            Case test{.name = "Resize",
                      .opset = 19,
                      .attributes = {},
                      .inputs = {random_tensor(from, 1, values), Tensor(), Tensor(), sizes_of(to)},
                      .constants = {}};
            test.attributes.set("mode", mode);
            test.attributes.set("antialias", antialias);
            test.attributes.set("exclude_outside", outside);
            expect_equal_to_ref(test);
            test.inputs[0] = as_doubles(test.inputs[0]);
            if (values == Values::kPlain) expect_equal_to_ref(test);
          }
        }
      }
    }
  }
}

// Regions without width or height, or with less than none, have no samples at all; more outputs
// than the plane has elements.
TEST(EqualityRoiAlign, RegionsWithoutSamplesAreZeros) {
  const std::vector<float> regions = {3, 3, 3, 3, 0, 0, 0, 0, 5, 1, 2, 4, 1, 5, 4, 2, 1, 1, 4, 4};
  const std::vector<std::int64_t> images = {0, 0, 0, 0, 0};
  for (const Shape& from : {Shape{1, 2, 8, 8}, Shape{1, 1, 1, 1}}) {
    for (const std::string mode : {"avg", "max"}) {
      for (const std::int64_t side : {2, 32}) {
        SCOPED_TRACE(fmt::format("{} {} {}", from.text(), mode, side));
        Case test{.name = "RoiAlign",
                  .opset = 16,
                  .attributes = {},
                  .inputs = {random_tensor(from, 1), Tensor::of<float>({5, 4}, regions),
                             Tensor::of<std::int64_t>({5}, images)},
                  .constants = {}};
        test.attributes.set("mode", mode);
        test.attributes.set("output_height", side);
        test.attributes.set("output_width", side);
        expect_equal_to_ref(test);
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
