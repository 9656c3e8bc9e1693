// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: functions of one or two elements.
#if defined(COMMENSAL_CPU_ELEMENTWISE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_ELEMENTWISE_INL
#undef COMMENSAL_CPU_ELEMENTWISE_INL
#else
#define COMMENSAL_CPU_ELEMENTWISE_INL
#endif

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/angles-inl.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/plain-inl.hpp>
#include <commensal/compute/kernels/cpu/special-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

using L = HighwayLanes;

struct Clip {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    const V above_low = function::maximum<L>(x, hn::Set(kFloats, p.first));
    return function::minimum<L>(above_low, hn::Set(kFloats, p.second));
  }
};
struct Erf {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return L::select(L::is_nan(x), x, erf_of_number<L>(x));
  }
};
struct Exp {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return exp_of<L>(x);
  }
};
struct Gelu {  // in the order of ref/gelu.cpp
  static HWY_INLINE V of(V x, const UnaryParameters&) {
    const V one = hn::Set(kFloats, 1.0f), root = hn::Sqrt(hn::Set(kFloats, 0.5f));
    const V half = hn::Mul(hn::Set(kFloats, 0.5f), x);
    return hn::Mul(half, hn::Add(one, erf_of_number<L>(hn::Mul(x, root))));
  }
};
struct GeluSteps {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters& p) {
    const auto e = erf_of_number<L>(L::div(x, L::set(p.first)));
    return L::mul(L::mul(x, L::add(e, L::set(1.0f))), L::set(0.5f));
  }
};
struct GeluTanh {
  static HWY_INLINE V of(V x, const UnaryParameters&) {
    const V one = hn::Set(kFloats, 1.0f), half = hn::Mul(hn::Set(kFloats, 0.5f), x);
    const V cube = hn::Mul(hn::Mul(x, x), x);
    const V inner = hn::Add(x, hn::Mul(hn::Set(kFloats, 0.044715f), cube));
    const V root_of_2_over_pi = hn::Set(kFloats, static_cast<float>(0x1.9884533d43651p-1));
    return hn::Mul(half, hn::Add(one, tanh_of<L>(hn::Mul(root_of_2_over_pi, inner))));
  }
};
struct HardSigmoid {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    const V line = hn::MulAdd(hn::Set(kFloats, p.first), x, hn::Set(kFloats, p.second));
    return function::maximum<L>(function::minimum<L>(line, hn::Set(kFloats, 1.0f)),
                                hn::Zero(kFloats));
  }
};
struct HardSwish {
  static HWY_INLINE V of(V x, const UnaryParameters&) {
    return hn::Mul(x, HardSigmoid::of(x, {1.0f / 6.0f, 0.5f}));
  }
};
struct LeakyRelu {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    return function::leaky_relu<L>(x, hn::Set(kFloats, p.first));
  }
};
struct Log {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::log<L>(x); }
};
struct Normalise {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    return hn::MulAdd(hn::Sub(x, hn::Set(kFloats, p.first)), hn::Set(kFloats, p.second),
                      hn::Set(kFloats, p.third));
  }
};
struct PowOf2 {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return pow_of_2<L>(x);
  }
};
struct Sigmoid {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return sigmoid_of<L>(x);
  }
};
struct Softplus {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::softplus<L>(x); }
};
struct Store {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return x; }
};
struct Swish {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters& p) {
    return L::mul(x, sigmoid_of<L>(L::mul(L::set(p.first), x)));
  }
};
struct Tanh {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return tanh_of<L>(x);
  }
};

struct Acos {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::acos<L>(x); }
};
struct Acosh {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::acosh<L>(x); }
};
struct Asin {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::asin<L>(x); }
};
struct Asinh {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::asinh<L>(x); }
};
struct Atan {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::atan<L>(x); }
};
struct Atanh {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::atanh<L>(x); }
};
struct Cos {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return sin_cos_of(x).cos;
  }
};
struct Cosh {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::cosh<L>(x); }
};
struct Sin {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    return function::odd<L>(x, sin_cos_of(x).sin);
  }
};
struct Sinh {
  static HWY_INLINE V of(V x, const UnaryParameters&) { return function::sinh<L>(x); }
};
struct Tan {
  template <class L>
  static HWY_INLINE typename L::V of(typename L::V x, const UnaryParameters&) {
    const auto both = sin_cos_of(x);
    return function::odd<L>(x, L::div(both.sin, both.cos));
  }
};
/// Below 0 the second, else x.
HWY_INLINE V below_0(V x, V below) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), below, x);
}
struct Celu {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    const V alpha = hn::Set(kFloats, p.first), one = hn::Set(kFloats, 1.0f);
    return below_0(x, hn::Mul(alpha, hn::Sub(exp_of<L>(hn::Div(x, alpha)), one)));
  }
};
struct Elu {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    const V one = hn::Set(kFloats, 1.0f);
    return below_0(x, hn::Mul(hn::Set(kFloats, p.first), hn::Sub(exp_of<L>(x), one)));
  }
};
struct Mish {
  static HWY_INLINE V of(V x, const UnaryParameters&) {
    return hn::Mul(x, tanh_of<L>(function::softplus<L>(x)));
  }
};
struct NormaliseTwice {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    const V scaled = hn::Mul(hn::Sub(x, hn::Set(kFloats, p.first)), hn::Set(kFloats, p.second));
    return hn::MulAdd(scaled, hn::Set(kFloats, p.third), hn::Set(kFloats, p.fourth));
  }
};
struct Selu {
  static HWY_INLINE V of(V x, const UnaryParameters& p) {
    const V alpha = hn::Set(kFloats, p.first), gamma = hn::Set(kFloats, p.second);
    const V below = hn::Mul(gamma, hn::Sub(hn::Mul(alpha, exp_of<L>(x)), alpha));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(kFloats)), hn::Mul(gamma, x), below);
  }
};

template <class Op>
void map(const float* x, float* y, std::int64_t count, const UnaryParameters& parameters) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(canonical(Op::of(hn::LoadU(kFloats, x + i), parameters)), kFloats, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    store_first(rest, canonical(Op::of(load_first(rest, x + i), parameters)), y + i);
  }
}

/// The same for an Op of many operations, written for any lanes: two vectors at a time.
template <class Op>
void map_twins(const float* x, float* y, std::int64_t count, const UnaryParameters& parameters) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const TwinLanes::V in = {hn::LoadU(kFloats, x + i), hn::LoadU(kFloats, x + i + kLanes)};
    const TwinLanes::V out = Op::template of<TwinLanes>(in, parameters);
    hn::StoreU(canonical(out.a), kFloats, y + i);
    hn::StoreU(canonical(out.b), kFloats, y + i + kLanes);
  }
  for (; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    store_first(rest, canonical(Op::template of<L>(load_first(rest, x + i), parameters)), y + i);
  }
}

inline constexpr std::array<UnaryFn, kUnaries> kUnaryFns = {
    map<Abs>,        map<Acos>,          map<Acosh>,
    map<Asin>,       map<Asinh>,         map<Atan>,
    map<Atanh>,      map<Ceil>,          map<Celu>,
    map<Clip>,       map_twins<Cos>,     map<Cosh>,
    map<Elu>,        map_twins<Erf>,     map_twins<Exp>,
    map<Floor>,      map<Gelu>,          map_twins<GeluSteps>,
    map<GeluTanh>,   map<HardSigmoid>,   map<HardSwish>,
    map<LeakyRelu>,  map<Log>,           map<Mish>,
    map<Neg>,        map<Normalise>,     map<NormaliseTwice>,
    map<Reciprocal>, map<Relu>,          map<Round>,
    map<Selu>,       map_twins<Sigmoid>, map_twins<Sin>,
    map<Sinh>,       map<Softplus>,      map<Sqrt>,
    map<Store>,      map_twins<Swish>,   map_twins<Tan>,
    map_twins<Tanh>};

struct Max {
  static HWY_INLINE V of(V a, V b) { return function::maximum<L>(a, b); }
};
struct Min {
  static HWY_INLINE V of(V a, V b) { return function::minimum<L>(a, b); }
};
struct Pow {
  static HWY_INLINE V of(V a, V b) { return function::pow<L>(a, b); }
};

template <class Op, int kStepA, int kStepB>
HWY_INLINE void zip_steps(const float* a, const float* b, float* y, std::int64_t count) {
  const V same_a = hn::Set(kFloats, *a), same_b = hn::Set(kFloats, *b);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V left = kStepA == 0 ? same_a : hn::LoadU(kFloats, a + i);
    const V right = kStepB == 0 ? same_b : hn::LoadU(kFloats, b + i);
    hn::StoreU(canonical(Op::of(left, right)), kFloats, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    const V left = kStepA == 0 ? same_a : load_first(rest, a + i);
    const V right = kStepB == 0 ? same_b : load_first(rest, b + i);
    store_first(rest, canonical(Op::of(left, right)), y + i);
  }
}

template <class Op>
void zip(const float* a, int a_step, const float* b, int b_step, float* y, std::int64_t count) {
  if (count <= 0) return;
  if (a_step != 0 && b_step != 0) return zip_steps<Op, 1, 1>(a, b, y, count);
  if (a_step != 0) return zip_steps<Op, 1, 0>(a, b, y, count);
  if (b_step != 0) return zip_steps<Op, 0, 1>(a, b, y, count);
  zip_steps<Op, 0, 0>(a, b, y, count);
}

/// Squares, which normalisations as exported ask of Pow, leave out what an exponent of 2 decides.
inline void zip_pow(const float* a, int a_step, const float* b, int b_step, float* y,
                    std::int64_t count) {
  if (count <= 0 || b_step != 0 || *b != 2.0f || a_step == 0) {
    return zip<Pow>(a, a_step, b, b_step, y, count);
  }
  map_twins<PowOf2>(a, y, count, {});
}

inline constexpr std::array<BinaryFn, kBinaries> kBinaryFns = {
    zip<Add>, zip<Div>, zip<Max>, zip<Min>, zip<Mul>, zip_pow, zip<Sub>};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
