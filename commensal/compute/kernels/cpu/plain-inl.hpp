// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: functions of one element that take an instruction or two, of
// floats and of doubles. Whoever stores their results makes NaNs canonical.
#if defined(COMMENSAL_CPU_PLAIN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_PLAIN_INL
#undef COMMENSAL_CPU_PLAIN_INL
#else
#define COMMENSAL_CPU_PLAIN_INL
#endif

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

struct Abs {
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Abs(x);
  }
};
struct Ceil {
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Ceil(x);
  }
};
struct Floor {
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Floor(x);
  }
};
struct Neg {
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Xor(x, hn::SignBit(hn::DFromV<X>()));
  }
};
struct Reciprocal {
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Div(hn::Set(hn::DFromV<X>(), 1), x);
  }
};
struct Relu {  // -0 becomes +0, NaN stays NaN
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(hn::DFromV<X>())), x);
  }
};
struct Round {  // halves to even
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Round(x);
  }
};
struct Sqrt {
  template <class X>
  static HWY_INLINE X of(X x, const UnaryParameters& = {}) {
    return hn::Sqrt(x);
  }
};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
