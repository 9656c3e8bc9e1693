// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <commensal/base/crypto/chacha20.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <limits>
#include <memory>

namespace commensal::noise {
namespace {

using core::Digest;
using tensor::DType;
using tensor::Tensor;

// Words of one piece: small enough to stay in the first cache, a multiple of a block.
constexpr std::size_t kPieceWords = 2048;

template <class F>
F canonical(F value) {
  return value == value ? value : std::numeric_limits<F>::quiet_NaN();
}

template <class T>
struct Rule;

template <>
struct Rule<float> {
  static constexpr std::size_t kWords = 1;
  static float add(float x, const std::uint32_t* words, float scale) {
    return canonical(x + unit_of(words[0]) * scale);  // the product is exact
  }
};
template <>
struct Rule<double> {
  static constexpr std::size_t kWords = 2;
  static double add(double x, const std::uint32_t* words, float scale) {
    return canonical(x + unit_of(words[0], words[1]) * static_cast<double>(scale));
  }
};
template <>
struct Rule<tensor::Float16> {
  static constexpr std::size_t kWords = 1;
  static tensor::Float16 add(tensor::Float16 x, const std::uint32_t* words, float scale) {
    return tensor::to_float16(tensor::to_float(x) + unit_of(words[0]) * scale);
  }
};
template <>
struct Rule<tensor::Bfloat16> {
  static constexpr std::size_t kWords = 1;
  static tensor::Bfloat16 add(tensor::Bfloat16 x, const std::uint32_t* words, float scale) {
    return tensor::to_bfloat16(tensor::to_float(x) + unit_of(words[0]) * scale);
  }
};

template <class T>
Tensor disturbed(const Tensor& x, crypto::ChaCha20 stream, float scale) {
  static_assert(std::endian::native == std::endian::little, "words are read as they lie");
  constexpr std::size_t kElements = kPieceWords / Rule<T>::kWords;
  const std::span<const T> from = x.data<T>();
  const auto to = std::make_shared_for_overwrite<T[]>(from.size());
  std::array<std::uint32_t, kPieceWords> words;
  for (std::size_t first = 0; first < from.size(); first += kElements) {
    const std::size_t count = std::min(kElements, from.size() - first);
    stream.fill({reinterpret_cast<std::uint8_t*>(words.data()), count * Rule<T>::kWords * 4});
    for (std::size_t i = 0; i < count; ++i) {
      to[first + i] = Rule<T>::add(from[first + i], &words[i * Rule<T>::kWords], scale);
    }
  }
  return Tensor::view_of(x.type(),
                         {reinterpret_cast<const std::uint8_t*>(to.get()), from.size_bytes()}, to);
}

struct Disturber {
  DType dtype;
  Tensor (*add)(const Tensor&, crypto::ChaCha20, float);
};
constexpr Disturber kDisturbers[] = {
    {DType::kFloat32, disturbed<float>},
    {DType::kFloat64, disturbed<double>},
    {DType::kFloat16, disturbed<tensor::Float16>},
    {DType::kBfloat16, disturbed<tensor::Bfloat16>},
};

const Disturber* disturber_of(DType dtype) {
  const auto* found =
      std::ranges::find_if(kDisturbers, [&](const Disturber& row) { return row.dtype == dtype; });
  return found == std::end(kDisturbers) ? nullptr : found;
}

}  // namespace

Digest seed_of(const Digest& value, const Digest& job_id, std::uint64_t step) {
  protocol::Writer number;
  number.u64(step);
  return crypto::tagged_hash("commensal/noise-seed/v1", value, job_id, number.written());
}

bool is_disturbable(DType dtype) { return disturber_of(dtype) != nullptr; }

core::Result<Tensor> add(const Tensor& x, const Digest& seed, std::uint32_t tensor_id,
                         int exponent) {
  core::check(exponent >= 0 && exponent <= kExponentMax, "a scale is 2^0 to 2^-100");
  const Disturber* found = disturber_of(x.dtype());
  if (found == nullptr) {
    return core::fail(core::ErrorCode::kUnsupported,
                      "noise goes onto floating-point tensors, not onto {}", x.type().text());
  }
  return found->add(x, crypto::ChaCha20(seed, {0, 0, tensor_id, 0}), std::ldexp(1.0f, -exponent));
}

}  // namespace commensal::noise
