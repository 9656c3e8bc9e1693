// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: TapPlane, for depthwise convolutions and pools.
#if defined(COMMENSAL_CPU_TAP_PLANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_TAP_PLANES_INL
#undef COMMENSAL_CPU_TAP_PLANES_INL
#else
#define COMMENSAL_CPU_TAP_PLANES_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

struct Chain {
  static HWY_INLINE V start() { return hn::Zero(kFloats); }
  static HWY_INLINE V step(const TapPlane& p, int tap, V x, V acc) {
    return hn::MulAdd(hn::Set(kFloats, p.weights[tap]), x, acc);
  }
  static HWY_INLINE V finish(const TapPlane& p, V acc) {
    return hn::Add(acc, hn::Set(kFloats, p.bias + 0.0f));  // -0 counts as +0
  }
};

struct Maximum {
  static HWY_INLINE V start() { return hn::Neg(hn::Inf(kFloats)); }
  static HWY_INLINE V step(const TapPlane&, int, V x, V acc) {
    return function::maximum<HighwayLanes>(acc, x);
  }
  static HWY_INLINE V finish(const TapPlane&, V acc) { return acc; }
};

HWY_INLINE void store_output(const TapPlane& p, std::int64_t y, std::int64_t x, V result) {
  float* const out = p.out + y * p.width + x;
  if (p.width - x >= kLanes) {
    hn::StoreU(result, kFloats, out);
  } else {
    store_first(static_cast<int>(p.width - x), result, out);
  }
}

/// kRows rows at once: a chain alone would wait for each step to end.
template <class Op, int kRows>
HWY_INLINE void tap_rows(const TapPlane& p, std::int64_t y) {
  for (std::int64_t x = 0; x < p.width; x += kLanes) {
    const float* const in = p.in + y * p.in_step + x;
    V acc[kRows];
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r] = Op::start();
    for (int t = 0; t < p.taps; ++t) {
      const float* const tap = in + p.offsets[t];
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        acc[r] = Op::step(p, t, hn::LoadU(kFloats, tap + r * p.in_step), acc[r]);
      }
    }
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) store_output(p, y + r, x, canonical(Op::finish(p, acc[r])));
  }
}

template <class Op>
void tap_plane(const TapPlane& p) {
  constexpr int kRows = 6;
  std::int64_t y = 0;
  for (; y + kRows <= p.height; y += kRows) tap_rows<Op, kRows>(p, y);
  for (; y + 2 <= p.height; y += 2) tap_rows<Op, 2>(p, y);
  for (; y < p.height; ++y) tap_rows<Op, 1>(p, y);
}

/// The sum of one vector of outputs: lane l of the specification's 32 is lanes[l].
HWY_INLINE V tap_sum(const TapPlane& p, const float* in) {
  V lanes[kSumLanes];
  const int used = std::min(p.taps, kSumLanes);
  for (int t = 0; t < used; ++t) lanes[t] = hn::LoadU(kFloats, in + p.offsets[t]);
  for (int t = kSumLanes; t < p.taps; ++t) {
    lanes[t % kSumLanes] = hn::Add(lanes[t % kSumLanes], hn::LoadU(kFloats, in + p.offsets[t]));
  }
  for (int half = kSumLanes / 2; half > 0; half /= 2) {  // adding an absent lane changes nothing
    for (int lane = 0; lane < half && lane + half < used; ++lane) {
      lanes[lane] = hn::Add(lanes[lane], lanes[lane + half]);
    }
  }
  return hn::Add(lanes[0], hn::Zero(kFloats));
}

inline void average_plane(const TapPlane& p) {
  for (std::int64_t y = 0; y < p.height; ++y) {
    for (std::int64_t x = 0; x < p.width; x += kLanes) {
      const auto count = static_cast<int>(std::min<std::int64_t>(p.width - x, kLanes));
      const V divisor = load_first(count, p.divisors + y * p.width + x);
      store_output(p, y, x, canonical(hn::Div(tap_sum(p, p.in + y * p.in_step + x), divisor)));
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
