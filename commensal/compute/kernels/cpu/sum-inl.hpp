// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: sums in 32 interleaved lanes, whatever the vectors' width.
#if defined(COMMENSAL_CPU_SUM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_SUM_INL
#undef COMMENSAL_CPU_SUM_INL
#else
#define COMMENSAL_CPU_SUM_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kSumLanes = 32;
inline constexpr int kSumVectors = kSumLanes / kLanes;
template <class T>
inline constexpr int kSumVectorsOf = kSumLanes / kLanesOf<T>;

/// -0 is what an absent element adds: it changes nothing, not even -0.
template <class T = float>
HWY_INLINE VectorOf<T> absent() {
  return hn::Set(LanesOf<T>(), T{-0.0});
}

/// The fixed tree over the lanes of a vector, then +0.
template <class D>
HWY_INLINE hn::TFromD<D> tree_of_lanes(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(d) == 2) {
    T lanes[2];
    hn::StoreU(x, d, lanes);
    return (lanes[0] + lanes[1]) + T{0};
  } else if constexpr (hn::MaxLanes(d) == 4) {
    T lanes[4];
    hn::StoreU(x, d, lanes);
    return ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + T{0};
  } else {
    const hn::Half<D> half;
    return tree_of_lanes(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
}
/// The same over all 32.
template <class T = float>
HWY_INLINE T tree_of_vectors(VectorOf<T>* acc) {
  for (int half = kSumVectorsOf<T> / 2; half > 0; half /= 2) {
    for (int v = 0; v < half; ++v) acc[v] = hn::Add(acc[v], acc[v + half]);
  }
  return tree_of_lanes(LanesOf<T>(), acc[0]);
}

/// The sum of term(x) over `count` elements in 32 lanes.
template <class Term>
HWY_INLINE float sum_of_32(const float* from, std::int64_t count, const Term& term) {
  V acc[kSumVectors];
  for (V& one : acc) one = absent();
  for (; count >= kSumLanes; count -= kSumLanes, from += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kSumVectors; ++v) {
      acc[v] = hn::Add(acc[v], term(hn::LoadU(kFloats, from + v * kLanes)));
    }
  }
  for (int v = 0; v < kSumVectors && count > v * kLanes; ++v) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - v * kLanes, kLanes));
    const V x = term(load_first(rest, from + v * kLanes));
    acc[v] = hn::Add(acc[v], hn::IfThenElse(first(rest), x, absent()));
  }
  return tree_of_vectors(acc);
}

inline float sum_of_32(const float* from, std::int64_t count) {
  return sum_of_32(from, count, [](V x) HWY_ATTR { return x; });
}

/// The tree over the first kUsed of 32 lanes, each a vector of sums; an absent lane changes
/// nothing.
template <int kUsed>
HWY_INLINE V tree_of(V* lanes) {
  COMMENSAL_UNROLL
  for (int half = kSumLanes / 2; half > 0; half /= 2) {
    COMMENSAL_UNROLL
    for (int i = 0; i < half; ++i) {
      if (i + half < kUsed) lanes[i] = hn::Add(lanes[i], lanes[i + half]);
    }
  }
  return lanes[0];
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
