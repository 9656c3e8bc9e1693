// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: DepthwisePlane.
#if defined(COMMENSAL_CPU_DEPTHWISE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_DEPTHWISE_INL
#undef COMMENSAL_CPU_DEPTHWISE_INL
#else
#define COMMENSAL_CPU_DEPTHWISE_INL
#endif

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// kRows rows at once: a chain alone would wait for each multiply-add to end.
template <int kRows>
HWY_INLINE void depthwise_rows(const DepthwisePlane& p, std::int64_t y) {
  const V bias = hn::Add(hn::Set(kFloats, p.bias), hn::Zero(kFloats));  // -0 counts as +0
  for (std::int64_t x = 0; x < p.width; x += kLanes) {
    const float* const in = p.in + y * p.in_step + x;
    V acc[kRows];
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r] = hn::Zero(kFloats);
    for (int t = 0; t < p.taps; ++t) {
      const V weight = hn::Set(kFloats, p.weights[t]);
      const float* const tap = in + p.offsets[t];
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        acc[r] = hn::MulAdd(weight, hn::LoadU(kFloats, tap + r * p.in_step), acc[r]);
      }
    }
    const std::int64_t rest = p.width - x;
    float* const out = p.out + y * p.width + x;
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const V result = canonical(hn::Add(acc[r], bias));
      if (rest >= kLanes) {
        hn::StoreU(result, kFloats, out + r * p.width);
      } else {
        store_first(static_cast<int>(rest), result, out + r * p.width);
      }
    }
  }
}

inline void depthwise(const DepthwisePlane& p) {
  constexpr int kRows = 6;
  std::int64_t y = 0;
  for (; y + kRows <= p.height; y += kRows) depthwise_rows<kRows>(p, y);
  for (; y + 2 <= p.height; y += 2) depthwise_rows<2>(p, y);
  for (; y < p.height; ++y) depthwise_rows<1>(p, y);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
