// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/few_places_lanes.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/few_places.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// Rows times vectors are as many chains as there are registers for.
void add_few_places(const FewPlacesTile& tile) {
  constexpr int kRows = FewPlacesTile::kRows;
  V sums[kRows][2];
  COMMENSAL_UNROLL for (int r = 0; r < kRows; ++r) {
    float* const at = tile.sums + r * 2 * kLanes;
    sums[r][0] = tile.resume ? hn::LoadU(kFloats, at) : hn::Zero(kFloats);
    sums[r][1] = tile.resume ? hn::LoadU(kFloats, at + kLanes) : hn::Zero(kFloats);
  }
  for (std::int64_t y = 0; y < tile.height; ++y) {
    const float* weights = tile.weights + y * tile.weights_line_step;
    for (std::int64_t x = 0; x < tile.width; ++x) {
      const float* at[kRows];
      COMMENSAL_UNROLL for (int r = 0; r < kRows; ++r) {
        at[r] = tile.rows[r] + y * tile.line_step + x * tile.tap_step;
      }
      for (std::int64_t c = 0; c < tile.channels; ++c, weights += 2 * kLanes) {
        const V left = hn::LoadU(kFloats, weights), right = hn::LoadU(kFloats, weights + kLanes);
        COMMENSAL_UNROLL for (int r = 0; r < kRows; ++r) {
          const V one = hn::Set(kFloats, at[r][c]);
          sums[r][0] = hn::MulAdd(one, left, sums[r][0]);
          sums[r][1] = hn::MulAdd(one, right, sums[r][1]);
        }
      }
    }
  }
  COMMENSAL_UNROLL for (int r = 0; r < kRows; ++r) {
    float* const at = tile.sums + r * 2 * kLanes;
    hn::StoreU(sums[r][0], kFloats, at);
    hn::StoreU(sums[r][1], kFloats, at + kLanes);
  }
}

const FewPlacesKernels& few_places_kernels() {
  static constexpr FewPlacesKernels kKernels = {2 * kLanes, add_few_places};
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::FewPlacesKernels& cpu::few_places_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, few_places_kernels());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
