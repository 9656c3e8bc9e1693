// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/recurrent_rows.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/recurrent_rows.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// y[i] = make(i, lanes), a vector at a time.
template <class Make>
HWY_INLINE void fill_row(float* y, std::int64_t count, const Make& make) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto lanes = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    store_first(lanes, canonical(make(i, lanes)), y + i);
  }
}

inline void mul_add(const float* a, const float* b, const float* c, float* y, std::int64_t count) {
  fill_row(y, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    return hn::MulAdd(load_first(lanes, a + i), load_first(lanes, b + i), load_first(lanes, c + i));
  });
}
inline void add_both(const float* a, const float* b, float* y, std::int64_t count) {
  fill_row(y, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    const V first = hn::Add(load_first(lanes, y + i), load_first(lanes, a + i));
    return hn::Add(first, load_first(lanes, b + i));
  });
}
inline void blend(const float* z, const float* n, float* h, std::int64_t count) {
  fill_row(h, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    const V share = load_first(lanes, z + i);
    const V rest = hn::Mul(hn::Sub(hn::Set(kFloats, 1.0f), share), load_first(lanes, n + i));
    return hn::MulAdd(share, load_first(lanes, h + i), rest);
  });
}

// In the order of ref/recurrent_activation.cpp.
inline void affine(const float* x, float* y, std::int64_t count, const UnaryParameters& p) {
  fill_row(y, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    const V scaled = hn::Mul(hn::Set(kFloats, p.first), load_first(lanes, x + i));
    return hn::Add(scaled, hn::Set(kFloats, p.second));
  });
}
inline void scaled_tanh(const float* x, float* y, std::int64_t count, const UnaryParameters& p) {
  fill_row(y, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    const V inner = hn::Mul(hn::Set(kFloats, p.second), load_first(lanes, x + i));
    return hn::Mul(hn::Set(kFloats, p.first), function::tanh<HighwayLanes>(inner));
  });
}
inline void softsign(const float* x, float* y, std::int64_t count, const UnaryParameters&) {
  fill_row(y, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    const V one = load_first(lanes, x + i);
    return hn::Div(one, hn::Add(hn::Set(kFloats, 1.0f), hn::Abs(one)));
  });
}
inline void thresholded_relu(const float* x, float* y, std::int64_t count,
                             const UnaryParameters& p) {
  fill_row(y, count, [&](std::int64_t i, int lanes) HWY_ATTR {
    const V one = load_first(lanes, x + i);
    const auto stays = hn::Or(hn::Gt(one, hn::Set(kFloats, p.first)), hn::IsNaN(one));
    return hn::IfThenElseZero(stays, one);
  });
}

const RecurrentRows& recurrent_rows() {
  static constexpr RecurrentRows kRows = {mul_add,     add_both, blend,           affine,
                                          scaled_tanh, softsign, thresholded_relu};
  return kRows;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::RecurrentRows& cpu::recurrent_rows_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, recurrent_rows());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
