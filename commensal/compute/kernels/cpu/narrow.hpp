// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::cpu {

/// Binary32 as Cast stores it in fewer bits: as binary16 and bfloat16 to nearest even, NaN
/// canonical; as bytes towards zero and saturating, NaN as 0. y: the elements' bits.
struct NarrowKernels {
  void (*to_half)(const float* x, std::uint16_t* y, std::int64_t count) = nullptr;
  void (*from_half)(const std::uint16_t* x, float* y, std::int64_t count) = nullptr;  // and back
  void (*to_bfloat16)(const float* x, std::uint16_t* y, std::int64_t count) = nullptr;
  void (*from_bfloat16)(const std::uint16_t* x, float* y, std::int64_t count) = nullptr;
  void (*to_uint8)(const float* x, std::uint8_t* y, std::int64_t count) = nullptr;
  void (*to_int8)(const float* x, std::uint8_t* y, std::int64_t count) = nullptr;
};

const NarrowKernels& narrow_kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
