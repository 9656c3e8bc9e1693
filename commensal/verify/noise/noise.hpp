// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <cstdint>

namespace commensal::noise {

// Noise that a client adds to every state of a rollout, so that no step can be computed before its
// seed is known. Specified bit by bit in docs/verification.md, "Noise"; vectors and a second
// implementation in tests/vectors/noise. Pure functions.

/// Scales are 2^-exponent.
inline constexpr int kExponentMax = 100;

/// The seed of step i: H("commensal/noise-seed/v1", v_i | J | i as u64), where v_1 to v_n are
/// values of a reverse hash chain whose anchor v_0 is Job::noise_anchor
/// (trade/pay/beacon/hash_chain.hpp). The client shows v_i when step i is begun: it tells nothing
/// of later ones, and whoever sees it knows by hashing it back that no other value was meant.
core::Digest seed_of(const core::Digest& value, const core::Digest& job_id, std::uint64_t step);

/// In [-1, 1), exactly: the word's upper 24 bits minus 2^23, times 2^-23.
inline float unit_of(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8) - 0x800000) * 0x1p-23f;
}
/// In [-1, 1), exactly: the upper 53 bits of high:low minus 2^52, times 2^-52.
inline double unit_of(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(static_cast<std::int64_t>(bits) - (std::int64_t{1} << 52)) * 0x1p-52;
}

/// Whether noise can be added to such elements: float32, float64, float16 and bfloat16.
bool is_disturbable(tensor::DType dtype);

/// x + 2^-exponent u, element by element in row-major order, with one rounding (float16, bfloat16:
/// one more, from binary32 to the format). u_j is unit_of word j of the ChaCha20 stream of `seed`
/// from state words {0, 0, tensor_id, 0}, words little-endian; float64: of words 2j and 2j + 1.
/// A NaN becomes the canonical one.
/// Error: kUnsupported where it is not disturbable. Precondition: 0 <= exponent <= kExponentMax.
core::Result<tensor::Tensor> add(const tensor::Tensor& x, const core::Digest& seed,
                                 std::uint32_t tensor_id, int exponent);

}  // namespace commensal::noise
