// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set. The vector type and the few operations on it that all lanes
// sources share.
#if defined(COMMENSAL_CPU_VECTOR_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_VECTOR_INL
#undef COMMENSAL_CPU_VECTOR_INL
#else
#define COMMENSAL_CPU_VECTOR_INL
#endif

#include <hwy/highway.h>

// Register arrays are registers only where the loops over them are unrolled.
#if HWY_COMPILER_CLANG
#define COMMENSAL_UNROLL _Pragma("unroll")
#else
#define COMMENSAL_UNROLL _Pragma("GCC unroll 64")
#endif

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA  // without it MulAdd would round twice: the baseline target stays empty

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using V = hn::Vec<Floats>;
inline constexpr Floats kFloats;
inline constexpr int kLanes = static_cast<int>(HWY_MAX_BYTES / sizeof(float));
inline constexpr int kTileRows = kLanes >= 16 ? 8 : 4;  // see gemm-inl.hpp

template <class T>
using LanesOf = hn::ScalableTag<T>;
template <class T>
using VectorOf = hn::Vec<LanesOf<T>>;
template <class T>
inline constexpr int kLanesOf = static_cast<int>(HWY_MAX_BYTES / sizeof(T));

/// Any NaN becomes 0x7fc00000, or 0x7ff8000000000000 (docs/numerics.md).
template <class Vector>
HWY_INLINE Vector canonical(Vector x) {
  using D = hn::DFromV<Vector>;
  using U = hn::RebindToUnsigned<D>;
  using Bits = hn::TFromD<U>;
  constexpr auto kNan = static_cast<Bits>(sizeof(Bits) == 8 ? 0x7ff8000000000000 : 0x7fc00000);
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(D(), hn::Set(U(), kNan)), x);
}

HWY_INLINE hn::Mask<Floats> first(int count) {
  return hn::FirstN(kFloats, static_cast<std::size_t>(count));
}
/// Elements [begin, end) of a vector.
struct Wanted {
  int begin = 0, end = 0;  // 0 <= begin <= end <= kLanes
  hn::Mask<Floats> mask;
};
/// The wanted elements of the vector at `from`, the others +0. Touches nothing else.
HWY_INLINE V load_wanted(const Wanted& wanted, const float* from) {
#if HWY_MEM_OPS_MIGHT_FAULT  // a masked load would read the whole vector
  if (wanted.begin == 0 && wanted.end == kLanes) return hn::LoadU(kFloats, from);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int i = wanted.begin; i < wanted.end; ++i) lanes[i] = from[i];
  return hn::Load(kFloats, lanes);
#else
  return hn::MaskedLoad(wanted.mask, kFloats, from);
#endif
}
/// Whether masked loads and stores of T touch nothing but what they are to.
template <class T>
inline constexpr bool kMasksMemory = HWY_MEM_OPS_MIGHT_FAULT == 0 && sizeof(T) >= sizeof(float);
/// The first `count` elements at `from`, the others 0.
template <class T>
HWY_INLINE VectorOf<T> load_first(int count, const T* from) {
  const LanesOf<T> d;
  if constexpr (kMasksMemory<T>) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
  } else {  // would read the whole vector
    if (count == kLanesOf<T>) return hn::LoadU(d, from);
    HWY_ALIGN T lanes[kLanesOf<T>] = {};
    for (int i = 0; i < count; ++i) lanes[i] = from[i];
    return hn::Load(d, lanes);
  }
}
template <class T>
HWY_INLINE void store_first(int count, VectorOf<T> x, T* to) {
  const LanesOf<T> d;
  // Some processors take twenty times as long for a store behind a mask.
  if (count == kLanesOf<T>) return hn::StoreU(x, d, to);
  if constexpr (kMasksMemory<T>) {
    hn::BlendedStore(x, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
  } else {  // would write the whole vector, beside other threads
    HWY_ALIGN T lanes[kLanesOf<T>];
    hn::Store(x, d, lanes);
    for (int i = 0; i < count; ++i) to[i] = lanes[i];
  }
}

// One rounding each, as ref/ has them; whoever stores the result makes its NaN canonical.
struct Add {
  static HWY_INLINE V of(V a, V b) { return hn::Add(a, b); }
};
struct Div {
  static HWY_INLINE V of(V a, V b) { return hn::Div(a, b); }
};
struct Mul {
  static HWY_INLINE V of(V a, V b) { return hn::Mul(a, b); }
};
struct Sub {
  static HWY_INLINE V of(V a, V b) { return hn::Sub(a, b); }
};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
