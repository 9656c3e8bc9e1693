// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// Random shapes and elements, for property tests. All is a function of seed and stream.
namespace commensal::kernels::testing {

/// Property tests take `usual` cases, times COMMENSAL_CASES where the environment has it.
inline int case_count(int usual) {
  const char* factor = std::getenv("COMMENSAL_CASES");
  return std::max(1, static_cast<int>(usual * (factor != nullptr ? std::atof(factor) : 1)));
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed, std::uint64_t stream = 0) : rng_(seed, stream) {}

  std::uint32_t word() { return rng_.next_u32(); }
  /// Of [least, most].
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(word() % static_cast<std::uint32_t>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return number(1, n) == 1; }
  /// Of [1, most], or 0: one in 25.
  std::int64_t dimension(std::int64_t most) { return one_in(25) ? 0 : number(1, most); }
  float real(float least, float most) {
    return least + (most - least) * (static_cast<float>(word() >> 8) * 0x1p-24f);
  }
  template <class List>
  const auto& of(const List& list) {
    return list[static_cast<std::size_t>(
        number(0, static_cast<std::int64_t>(std::size(list)) - 1))];
  }
  const char* of(std::initializer_list<const char*> list) { return of(std::span(list)); }

 private:
  core::CounterRng rng_;
};

/// What random elements are made of.
enum class Blend {
  kPlain,    // floats in [-2, 2), integers in [-8, 8]
  kSpecial,  // the same, but one in 13 is NaN (with payload), infinite, a zero, subnormal, an
             // extreme
  kWild,     // any bits
};

inline std::uint32_t special_bits(std::uint32_t word) {
  constexpr std::uint32_t kBits[] = {0x7fc00000, 0xffc01234, 0x7f800000, 0xff800000,
                                     0x80000000, 0x00000000, 0x00000001, 0x807fffff,
                                     0x7f7fffff, 0xff7fffff, 0x00800000, 0x3f800000};
  return kBits[word % std::size(kBits)];
}

/// The bits of one element in the low bytes.
inline std::uint64_t random_bits(Draw& draw, tensor::DType dtype, Blend blend) {
  using tensor::DType;
  const bool special = blend == Blend::kSpecial && draw.one_in(13);
  const std::uint64_t any = static_cast<std::uint64_t>(draw.word()) << 32 | draw.word();
  const bool wild = blend == Blend::kWild;
  const float plain = special ? std::bit_cast<float>(special_bits(draw.word())) : draw.real(-2, 2);
  switch (dtype) {
    case DType::kBool:
      return any & 1;
    case DType::kFloat32:
      return wild ? any : std::bit_cast<std::uint32_t>(plain);
    case DType::kFloat64:
      if (wild) return any;
      if (special && draw.one_in(3)) return draw.one_in(2) ? 1 : 0x800fffffffffffff;
      return std::bit_cast<std::uint64_t>(static_cast<double>(plain) *
                                          (special ? 1 : 1.0 + 0x1p-40));
    case DType::kFloat16:
      return wild || special ? any : tensor::to_float16(plain).bits;
    case DType::kBfloat16:
      return wild || special ? any : tensor::to_bfloat16(plain).bits;
    default:
      break;
  }
  if (wild || special) return any;
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 ||
                         dtype == DType::kInt32 || dtype == DType::kInt64;
  return static_cast<std::uint64_t>(draw.number(is_signed ? -8 : 0, 8));
}

inline tensor::Tensor random_of(Draw& draw, tensor::DType dtype, const tensor::Shape& shape,
                                Blend blend = Blend::kPlain) {
  const auto size = static_cast<std::size_t>(tensor::traits(dtype).size);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape.elements()) * size);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const std::uint64_t bits = random_bits(draw, dtype, blend);
    std::memcpy(bytes.data() + at, &bits, size);
  }
  return tensor::Tensor::copy_of({dtype, shape}, bytes);
}

/// The same elements at an address that is aligned for them, but no better.
inline tensor::Tensor misplaced(Draw& draw, const tensor::Tensor& from) {
  const auto size = static_cast<std::size_t>(tensor::traits(from.dtype()).size);
  const auto offset = size * static_cast<std::size_t>(draw.number(1, 15));
  const auto bytes = from.bytes();
  const auto home = std::make_shared<std::vector<std::uint64_t>>((offset + bytes.size()) / 8 + 1);
  auto* at = reinterpret_cast<std::uint8_t*>(home->data()) + offset;
  std::ranges::copy(bytes, at);
  return tensor::Tensor::view_of(from.type(), {at, bytes.size()}, home);
}

inline tensor::Shape shape_of(const std::vector<std::int64_t>& dims) {
  return *tensor::Shape::of(dims);
}

/// Rank `rank`, at most `most` elements; one dimension in 25 is 0.
inline tensor::Shape random_shape(Draw& draw, int rank, std::int64_t most) {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t room = std::max<std::int64_t>(most, 1);
    const std::int64_t largest = draw.one_in(3) ? room : std::min<std::int64_t>(room, 9);
    dims.push_back(draw.dimension(largest));
    most /= std::max<std::int64_t>(dims.back(), 1);
  }
  for (std::size_t i = dims.size(); i > 1; --i) {
    std::swap(dims[i - 1],
              dims[static_cast<std::size_t>(draw.number(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return shape_of(dims);
}

/// A shape that numpy's rule lays over `shape`.
inline tensor::Shape broadcastable(Draw& draw, const tensor::Shape& shape) {
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (draw.one_in(2)) {
    for (auto& dim : dims) dim = draw.one_in(3) ? 1 : dim;
  }
  if (draw.one_in(3) && !dims.empty()) {
    dims.erase(dims.begin(), dims.begin() + draw.number(0, static_cast<std::int64_t>(dims.size())));
  }
  return shape_of(dims);
}

}  // namespace commensal::kernels::testing
