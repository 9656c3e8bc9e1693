// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the transforms of the Winograd clause, a vector of
// neighbouring tiles at a time.
#if defined(COMMENSAL_CPU_WINOGRAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_WINOGRAD_INL
#undef COMMENSAL_CPU_WINOGRAD_INL
#else
#define COMMENSAL_CPU_WINOGRAD_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <int M>
inline void winograd_input_rows(const WinogradInput& w) {
  constexpr int T = M + 2;
  V d[T * T], v[T * T];
  for (std::int64_t row = 0; row < w.tile_rows; ++row) {
    for (std::int64_t tile = 0; tile < w.tiles_across; tile += kLanes) {
      const float* const at = w.parts + M * row * w.row_step + tile;
      COMMENSAL_UNROLL
      for (int i = 0; i < T; ++i) {
        COMMENSAL_UNROLL
        for (int j = 0; j < T; ++j) {
          d[i * T + j] = hn::LoadU(kFloats, at + j % M * w.part_step + i * w.row_step + j / M);
        }
      }
      function::winograd_input<HighwayLanes, M>(d, v);
      const auto count = static_cast<int>(std::min<std::int64_t>(kLanes, w.tiles_across - tile));
      float* const out = w.out + row * w.tiles_across + tile;
      COMMENSAL_UNROLL
      for (int p = 0; p < T * T; ++p) {
        store_first(count, v[p], out + p * w.point_step);
      }
    }
  }
}

/// One row of `count` pixels out of M vectors of columns.
template <int M>
HWY_INLINE void store_pixels(const V* y, float* out, std::int64_t count) {
  alignas(64) float whole[M * kLanes];
  float* const to = count >= M * kLanes ? out : whole;
  if constexpr (M == 2) {
    hn::StoreInterleaved2(y[0], y[1], kFloats, to);
  } else {
    hn::StoreInterleaved4(y[0], y[1], y[2], y[3], kFloats, to);
  }
  if (to == out) return;
  for (int x = 0; x < count; x += kLanes) {
    const V pixels = hn::Load(kFloats, whole + x);
    store_first(static_cast<int>(std::min<std::int64_t>(count - x, kLanes)), pixels, out + x);
  }
}

template <int M>
inline void winograd_output_rows(const WinogradOutput& w) {
  constexpr int T = M + 2;
  const V bias = hn::Add(hn::Set(kFloats, w.bias), hn::Zero(kFloats));  // -0 counts as +0
  V sums[T * T], y[M * M];
  for (std::int64_t row = 0; row < w.tile_rows; ++row) {
    const auto rows = static_cast<int>(std::min<std::int64_t>(M, w.height - M * row));
    for (std::int64_t tile = 0; tile < w.tiles_across; tile += kLanes) {
      const float* const from = w.sums + row * w.tiles_across + tile;
      COMMENSAL_UNROLL
      for (int p = 0; p < T * T; ++p) sums[p] = hn::LoadU(kFloats, from + p * w.point_step);
      function::winograd_output<HighwayLanes, M>(sums, y);
      COMMENSAL_UNROLL
      for (int i = 0; i < M * M; ++i) y[i] = canonical(hn::Add(y[i], bias));
      float* const out = w.out + M * row * w.width + M * tile;
      for (int r = 0; r < rows; ++r) {
        store_pixels<M>(y + r * M, out + r * w.width, w.width - M * tile);
      }
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
