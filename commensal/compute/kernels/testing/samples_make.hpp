// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>

/// What the files of samples (samples_*_test.cpp) make their calls of. For tests only.
namespace commensal::kernels::testing::make {

using tensor::Shape;
using List = std::vector<std::int64_t>;
using Named = std::initializer_list<std::pair<const char*, Attribute>>;
using Samples = std::vector<kernels::testing::Sample>;

inline Attributes with(Named named) {
  Attributes made;
  for (const auto& [name, value] : named) made.set(name, value);
  return made;
}
inline std::string text(const char* words) { return words; }

/// Values in [-bound, bound), other ones for every seed and stream.
inline std::vector<float> draws(const Shape& shape, float bound, std::uint64_t seed,
                                std::uint64_t stream) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    values.push_back(bound *
                     core::counter_symmetric_f32(seed, stream, static_cast<std::uint64_t>(i)));
  }
  return values;
}
inline Tensor uniform(const Shape& shape, float bound, std::uint64_t seed, std::uint64_t stream) {
  return Tensor::of<float>(shape, draws(shape, bound, seed, stream));
}
/// The magnitudes of a float32 tensor, and a little more: all above 0.
inline Tensor positive_of(const Tensor& from) {
  std::vector<float> values;
  for (const float x : from.data<float>()) values.push_back(std::abs(x) + 0.01f);
  return Tensor::of<float>(from.shape(), values);
}
/// Whether an element is above `threshold`.
inline Tensor booleans_of(const Tensor& from, float threshold) {
  std::vector<std::uint8_t> bytes;
  for (const float x : from.data<float>()) bytes.push_back(x > threshold ? 1 : 0);
  return Tensor::copy_of({tensor::DType::kBool, from.shape()}, bytes);
}

inline Tensor i64(const Shape& shape, const List& values) {
  return Tensor::of<std::int64_t>(shape, values);
}
inline Tensor list(const List& values) {
  return i64({static_cast<std::int64_t>(values.size())}, values);
}
template <class T>
Tensor scalar(T value) {
  return Tensor::of<T>({}, std::span<const T>(&value, 1));
}

}  // namespace commensal::kernels::testing::make
