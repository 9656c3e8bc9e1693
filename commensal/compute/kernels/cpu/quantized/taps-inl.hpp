// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: outputs out of few words of one plane.
#if defined(COMMENSAL_CPU_CODES_TAPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_CODES_TAPS_INL
#undef COMMENSAL_CPU_CODES_TAPS_INL
#else
#define COMMENSAL_CPU_CODES_TAPS_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/quantized/dot-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// kRows rows at once: a sum alone would wait for each step to end.
template <int kRows>
HWY_INLINE void code_tap_rows(const TapPlane& p, std::int64_t y) {
  for (std::int64_t x = 0; x < p.width; x += kLanes) {
    const float* const in = p.in + y * p.in_step + x;
    Ints acc[kRows];
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r] = hn::Zero(kInts);
    for (int t = 0; t < p.taps; ++t) {
      const LeftWord weight = left_word(p.weights + t * kLeftParts, 1);
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        acc[r] = dot(acc[r], weight, right_words(in + p.offsets[t] + r * p.in_step));
      }
    }
    const auto count = static_cast<int>(std::min<std::int64_t>(kLanes, p.width - x));
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      store_first(count, hn::BitCast(kFloats, acc[r]), p.out + (y + r) * p.width + x);
    }
  }
}

inline void code_taps(const TapPlane& plane) {
  const TapPlane p = plane;
  constexpr int kRows = 4;
  std::int64_t y = 0;
  for (; y + kRows <= p.height; y += kRows) code_tap_rows<kRows>(p, y);
  for (; y < p.height; ++y) code_tap_rows<1>(p, y);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
