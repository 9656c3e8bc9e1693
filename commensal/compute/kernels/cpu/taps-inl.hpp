// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: gathering the inputs of a convolution into panels.
#if defined(COMMENSAL_CPU_TAPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_TAPS_INL
#undef COMMENSAL_CPU_TAPS_INL
#else
#define COMMENSAL_CPU_TAPS_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/gemm-inl.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline void copy_run(const float* from, float* to, int count) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(hn::LoadU(kFloats, from + i), kFloats, to + i);
  if (i < count) store_first(count - i, load_first(count - i, from + i), to + i);
}

/// The first `reach` of a vector's elements; none where it is not positive.
HWY_INLINE V load_reach(std::int64_t reach, const float* from) {
  if (reach >= kLanes) return hn::LoadU(kFloats, from);
  return reach > 0 ? load_first(static_cast<int>(reach), from) : hn::Zero(kFloats);
}

/// `kStride` vectors' elements 0, kStride, 2 kStride, ...; kStride is 2 or 4. Nothing is read from
/// `reach` on.
template <int kStride>
HWY_INLINE V load_every(std::int64_t reach, const float* from) {
  if constexpr (kStride == 1) {
    return load_reach(reach, from);
  } else {
    constexpr int kHalf = kStride / 2 * kLanes;
    return hn::ConcatEven(kFloats, load_every<kStride / 2>(reach - kHalf, from + kHalf),
                          load_every<kStride / 2>(reach, from));
  }
}

template <int kStride>
inline void copy_run_every(const float* from, float* to, int count) {
  for (int i = 0; i < count; i += kLanes, from += kStride * kLanes) {
    const int rest = count - i;
    const V x = load_every<kStride>((rest - 1) * kStride + 1, from);
    if (rest >= kLanes) {
      hn::StoreU(x, kFloats, to + i);
    } else {
      store_first(rest, x, to + i);
    }
  }
}

inline void copy_every(const float* from, std::int64_t stride, float* to, int count) {
  if (count <= 0) return;
  if (stride == 1) return copy_run(from, to, count);
  if (stride == 2) return copy_run_every<2>(from, to, count);
  if (stride == 4) return copy_run_every<4>(from, to, count);
  for (int i = 0; i < count; ++i) to[i] = from[i * stride];
}

inline void gather_taps(const TapRows& t) {
  const float* plane = t.planes;
  float* row = t.panel;
  for (std::int64_t c = 0; c < t.channels; ++c, plane += t.plane_step) {
    if (t.clear) {
      for (int v = 0; v < kTileVectors; ++v) {
        hn::StoreU(hn::Zero(kFloats), kFloats, row + v * kLanes);
      }
    }
    for (int i = 0; i < t.run_count; ++i) {
      const Run& run = t.runs[i];
      copy_every(plane + run.from, t.stride, row + run.to, run.count);
    }
    row += kTileVectors * kLanes;
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
