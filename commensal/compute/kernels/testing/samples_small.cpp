// SPDX-License-Identifier: Apache-2.0
// Samples with elements of 8 and 4 bits: conversions, codes, and what is told of numbers.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/testing/samples_make.hpp>
#include <commensal/compute/tensor/small.hpp>

namespace commensal::kernels::testing {
namespace {

using make::Named;
using make::Samples;
using make::Shape;
using make::with;
using tensor::DType;

// Values in [-500, 500), other ones for every stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 500, 17, stream);
}
// Every code in turn, from `first` on.
Tensor small(DType dtype, const Shape& shape, int first = 0) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto code = static_cast<std::int64_t>(i) * 7 + first;
    bytes[i] = static_cast<std::uint8_t>(code & (tensor::is_four_bits(dtype) ? 15 : 255));
  }
  return Tensor::copy_of({dtype, shape}, bytes);
}
std::vector<DType> small_types() {
  std::vector<DType> made;
  for (const auto& row : tensor::all_dtypes()) {
    if (tensor::is_small(row.dtype)) made.push_back(row.dtype);
  }
  return made;
}
std::int64_t number(DType dtype) { return static_cast<std::int64_t>(dtype); }

void add_casts(Samples& s) {
  for (const DType to : small_types()) {
    for (const std::int64_t saturate : {0, 1}) {
      s.push_back({"Cast", 24, {f32({13})}, with({{"to", number(to)}, {"saturate", saturate}})});
    }
    for (const DType back : {DType::kFloat32, DType::kInt8, DType::kBool, DType::kFloat16}) {
      s.push_back({"Cast", 24, {small(to, {40})}, with({{"to", number(back)}})});
    }
    for (const DType other : small_types()) {
      s.push_back({"CastLike", 24, {small(to, {19}), small(other, {1})}});
    }
  }
  for (const char* mode : {"up", "down", "nearest"}) {
    s.push_back({"Cast",
                 24,
                 {f32({9})},
                 with({{"to", number(DType::kFloat8E8M0)}, {"round_mode", std::string(mode)}})});
  }
}

void add_codes(Samples& s) {
  for (const DType to : small_types()) {
    if (to == DType::kFloat8E8M0) continue;
    const Tensor zero = small(to, {}, 0), scale = Tensor::of<float>({}, std::array{0.75f});
    s.push_back({"QuantizeLinear", 24, {f32({3, 5}), scale, zero}});
    s.push_back({"QuantizeLinear",
                 24,
                 {f32({3, 5}), scale},
                 with({{"output_dtype", number(to)}, {"saturate", std::int64_t{0}}})});
    s.push_back({"DequantizeLinear", 24, {small(to, {3, 5}, 2), scale, small(to, {}, 3)}});
    s.push_back({"DequantizeLinear",
                 24,
                 {small(to, {2, 6}, 1), f32({2, 2}, 3), small(to, {2, 2}, 5)},
                 with({{"axis", std::int64_t{1}}, {"block_size", std::int64_t{3}}})});
  }
  s.push_back({"QuantizeLinear",
               24,
               {f32({2, 6}), small(DType::kFloat8E8M0, {2, 3}, 120)},
               with({{"output_dtype", number(DType::kFloat4E2M1)},
                     {"block_size", std::int64_t{2}},
                     {"precision", number(DType::kFloat16)}})});
}

void add_others(Samples& s) {
  for (const DType dtype : small_types()) {
    const Tensor x = small(dtype, {4, 5}, 3);
    s.push_back({"Identity", 24, {x}});
    s.push_back({"Transpose", 24, {x}});
    s.push_back({"Concat", 24, {x, x}, with({{"axis", std::int64_t{1}}})});
    s.push_back({"ConstantOfShape",
                 24,
                 {Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{6})},
                 with({{"value", small(dtype, {1}, 9)}})});
  }
  const Tensor train = Tensor::of<bool>({}, std::array{true});
  for (const float ratio : {0.0f, 0.4f}) {
    s.push_back({"Dropout",
                 13,
                 {f32({3, 11}), Tensor::of<float>({}, std::array{ratio}), train},
                 with({{"seed", std::int64_t{7}}}),
                 2});
  }
  for (const char* name : {"IsInf", "IsNaN"}) {
    s.push_back({name, 22, {small(DType::kFloat8E5M2, {37})}});
    s.push_back({name, 22, {small(DType::kFloat8E4M3FnUz, {37})}});
  }
}

}  // namespace

Tensor as_small(const Tensor& from, DType dtype) {
  std::vector<std::uint8_t> bytes;
  for (const float value : from.data<float>()) {
    bytes.push_back(tensor::is_small_float(dtype)
                        ? tensor::small_from_float(dtype, value, true)
                        : tensor::four_bits(ref::convert<std::int32_t>(value)));
  }
  return Tensor::copy_of({dtype, from.shape()}, bytes);
}

std::vector<Sample> small_samples() {
  Samples samples;
  add_casts(samples);
  add_codes(samples);
  add_others(samples);
  return samples;
}

}  // namespace commensal::kernels::testing
