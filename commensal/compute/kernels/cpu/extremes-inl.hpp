// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the order of extremes (ref/fold.hpp) of float and double.
#if defined(COMMENSAL_CPU_EXTREMES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_EXTREMES_INL
#undef COMMENSAL_CPU_EXTREMES_INL
#else
#define COMMENSAL_CPU_EXTREMES_INL
#endif

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// A whole number for each value, in the order of extremes: as ref/fold_rows.hpp has it.
template <class T, bool kMost>
struct Order {
  using Integers = hn::RebindToSigned<LanesOf<T>>;
  using Key = hn::TFromD<Integers>;
  using I = hn::Vec<Integers>;
  using Limits = std::numeric_limits<Key>;
  static constexpr Key kNan = kMost ? Limits::max() : Limits::min();

  static HWY_INLINE I flipped(I bits) {
    const Integers d;
    return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, Limits::max())));
  }
  static HWY_INLINE I key(VectorOf<T> x) {
    const Integers d;
    return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(x)), hn::Set(d, kNan),
                          flipped(hn::BitCast(d, x)));
  }
  static HWY_INLINE VectorOf<T> value(I key) {
    const Integers d;
    const LanesOf<T> values;
    const auto x = hn::BitCast(values, flipped(key));
    const auto nan = hn::RebindMask(values, hn::Eq(key, hn::Set(d, kNan)));
    return canonical(hn::IfThenElse(nan, hn::Set(values, std::numeric_limits<T>::quiet_NaN()), x));
  }
  static HWY_INLINE I better(I a, I b) { return kMost ? hn::Max(a, b) : hn::Min(a, b); }
  static HWY_INLINE auto is_better(I a, I b) { return kMost ? hn::Gt(a, b) : hn::Lt(a, b); }
  static HWY_INLINE I start() {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return key(hn::Set(LanesOf<T>(), kMost ? -kInfinity : kInfinity));
  }
};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
