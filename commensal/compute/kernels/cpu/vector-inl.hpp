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

/// Any NaN becomes 0x7fc00000 (docs/numerics.md).
HWY_INLINE V canonical(V x) {
  const hn::RebindToUnsigned<Floats> bits;
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(kFloats, hn::Set(bits, 0x7fc00000u)), x);
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
HWY_INLINE V load_first(int count, const float* from) {
  return load_wanted({0, count, first(count)}, from);
}
HWY_INLINE void store_first(int count, V x, float* to) {
#if HWY_MEM_OPS_MIGHT_FAULT  // a blended store would write the whole vector, beside other threads
  if (count == kLanes) return hn::StoreU(x, kFloats, to);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(x, kFloats, lanes);
  for (int i = 0; i < count; ++i) to[i] = lanes[i];
#else
  hn::BlendedStore(x, first(count), kFloats, to);
#endif
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
