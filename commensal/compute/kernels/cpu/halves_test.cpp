// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Bfloat16;
using tensor::DType;
using tensor::Float16;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

/// All bit patterns, as often as they fit.
Tensor all_halves(DType dtype, const Shape& shape) {
  core::Bytes bytes;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i));
    bytes.push_back(static_cast<std::uint8_t>(i >> 8));
  }
  return Tensor::copy_of({dtype, shape}, bytes);
}

Tensor halves(DType dtype, const Shape& shape, std::uint64_t seed, Values values) {
  const Tensor drawn = random_tensor(shape, seed, values);
  std::vector<Float16> halves;
  std::vector<Bfloat16> brains;
  for (const float one : drawn.data<float>()) {
    halves.push_back(tensor::to_float16(one));
    brains.push_back(tensor::to_bfloat16(one));
  }
  return dtype == DType::kFloat16 ? Tensor::of<Float16>(shape, halves)
                                  : Tensor::of<Bfloat16>(shape, brains);
}

constexpr DType kHalfTypes[] = {DType::kFloat16, DType::kBfloat16};

TEST(EqualityHalves, EveryHalfKeepsItsBits) {
  for (const DType dtype : kHalfTypes) {
    Case test{.name = "MaxPool",
              .opset = 22,
              .attributes = {},
              .inputs = {all_halves(dtype, {1, 1, 256, 256})},
              .constants = {}};
    test.attributes.set("kernel_shape", Ints{1, 1});
    expect_equal_to_ref(test);
  }
}

// Sums of two halves lie between two others; products overflow and underflow.
TEST(EqualityHalves, OutputsAreRoundedOnce) {
  for (const DType dtype : kHalfTypes) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      const auto x = [&](const Shape& shape, std::uint64_t seed) {
        return halves(dtype, shape, seed, values);
      };
      const Case all[] = {
          {.name = "MatMul",
           .attributes = {},
           .inputs = {x({3, 19, 20}, 1), x({20, 37}, 2)},
           .constants = {1}},
          {.name = "Gemm",
           .attributes = {},
           .inputs = {x({5, 9}, 1), x({9, 33}, 2), x({33}, 3)},
           .constants = {1}},
          // 3x3 over 16 channels: in binary32 the Winograd clause would apply.
          {.name = "Conv",
           .attributes = {},
           .inputs = {x({1, 16, 9, 9}, 1), x({5, 16, 3, 3}, 2), x({5}, 3)},
           .constants = {1}},
          {.name = "ConvTranspose",
           .attributes = {},
           .inputs = {x({1, 4, 7, 9}, 1), x({4, 3, 3, 3}, 2)},
           .constants = {1}},
          {.name = "GlobalAveragePool",
           .attributes = {},
           .inputs = {x({2, 19, 7, 7}, 1)},
           .constants = {}},
          {.name = "GlobalMaxPool",
           .attributes = {},
           .inputs = {x({2, 19, 7, 7}, 1)},
           .constants = {}},
      };
      for (Case test : all) {
        test.serves = values == Values::kPlain;
        expect_equal_to_ref(test);
      }
      for (const std::string_view name : {"AveragePool", "MaxPool", "LpPool"}) {
        Case test{.name = name,
                  .opset = 22,
                  .attributes = {},
                  .inputs = {x({1, 3, 9, 21}, 1)},
                  .constants = {}};
        test.attributes.set("kernel_shape", Ints{2, 3});
        expect_equal_to_ref(test);
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
