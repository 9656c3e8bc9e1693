// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: one row of Softmax.
#if defined(COMMENSAL_CPU_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_SOFTMAX_INL
#undef COMMENSAL_CPU_SOFTMAX_INL
#else
#define COMMENSAL_CPU_SOFTMAX_INL
#endif

#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/special-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// All lanes: the largest, as far as Softmax can tell: of zeros any, as e^(x - 0) knows no sign,
/// and among NaNs whatever they leave, as each makes the whole row NaN by way of the sum.
HWY_INLINE V largest_of(const float* x, std::int64_t count) {
  constexpr int kChains = 4;  // so that comparisons do not wait for each other
  V best[kChains];
  for (V& one : best) one = hn::Neg(hn::Inf(kFloats));
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    COMMENSAL_UNROLL
    for (int c = 0; c < kChains; ++c) {
      best[c] = hn::Max(hn::LoadU(kFloats, x + i + c * kLanes), best[c]);
    }
  }
  for (; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    best[0] = hn::Max(hn::IfThenElse(first(rest), load_first(rest, x + i), best[0]), best[0]);
  }
  const V all = hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3]));
  return hn::MaxOfLanes(kFloats, all);
}

/// Writes exp(x - largest) and returns their sum in 32 lanes.
HWY_INLINE float powers_of_e(const float* x, float* y, std::int64_t count, V largest) {
  V acc[kSumVectors];
  for (V& one : acc) one = absent();
  const auto power = [&](V a, V b) HWY_ATTR {
    return exp_of_negative<TwinLanes>({hn::Sub(a, largest), hn::Sub(b, largest)});
  };
  std::int64_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kSumVectors; v += 2) {
      float* const to = y + i + v * kLanes;
      const float* const from = x + i + v * kLanes;
      const auto e = power(hn::LoadU(kFloats, from), hn::LoadU(kFloats, from + kLanes));
      hn::StoreU(e.a, kFloats, to);
      hn::StoreU(e.b, kFloats, to + kLanes);
      acc[v] = hn::Add(acc[v], e.a);
      acc[v + 1] = hn::Add(acc[v + 1], e.b);
    }
  }
  for (int v = 0; i < count; v += 2, i += 2 * kLanes) {
    const auto left = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const auto right = static_cast<int>(std::clamp<std::int64_t>(count - i - kLanes, 0, kLanes));
    const auto e = power(load_first(left, x + i), load_first(right, x + i + kLanes));
    store_first(left, e.a, y + i);
    store_first(right, e.b, y + i + kLanes);
    acc[v] = hn::Add(acc[v], hn::IfThenElse(first(left), e.a, absent()));
    acc[v + 1] = hn::Add(acc[v + 1], hn::IfThenElse(first(right), e.b, absent()));
  }
  return tree_of_vectors(acc);
}

/// Where the largest is a zero: +0 is above -0.
HWY_INLINE V exact_zero(const float* x, std::int64_t count, V largest) {
  if (hn::GetLane(largest) != 0) return largest;
  const bool positive =
      std::any_of(x, x + count, [](float one) { return one == 0 && !std::signbit(one); });
  return hn::Set(kFloats, positive ? 0.0f : -0.0f);
}

inline void log_softmax_row(const float* x, float* y, std::int64_t count) {
  const V largest = exact_zero(x, count, largest_of(x, count));
  const float total = powers_of_e(x, y, count, largest);
  if (!(total >= 1)) {  // likewise
    std::fill_n(y, count, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const V log = function::log<HighwayLanes>(hn::Set(kFloats, total));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const V d = hn::Sub(load_first(rest, x + i), largest);
    store_first(rest, canonical(hn::Sub(d, log)), y + i);
  }
}

inline void softmax_row(const float* x, float* y, std::int64_t count) {
  const float total = powers_of_e(x, y, count, largest_of(x, count));
  if (!(total >= 1)) {  // the largest is 1, unless there is a NaN
    std::fill_n(y, count, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const V sum = hn::Set(kFloats, total);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(share_of(hn::LoadU(kFloats, y + i), sum), kFloats, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    store_first(rest, share_of(load_first(rest, y + i), sum), y + i);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
