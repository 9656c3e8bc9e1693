// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: what a step of a recurrent layer makes of its gates' chains.
#if defined(COMMENSAL_CPU_RECURRENT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_RECURRENT_INL
#undef COMMENSAL_CPU_RECURRENT_INL
#else
#define COMMENSAL_CPU_RECURRENT_INL
#endif

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/math-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// Some units of a row: `count` of them from unit `at` on.
struct Units {
  const CellRow& row;
  std::int64_t at;
  int count;

  HWY_INLINE V load(const float* from) const { return load_first(count, from + at); }
  HWY_INLINE V bias(const float* from, int gate) const {
    const V zero = hn::Zero(kFloats);  // -0 counts as +0
    return from == nullptr ? zero : hn::Add(load(from + gate * row.units), zero);
  }
  /// The sum of a gate: its chain and both biases.
  HWY_INLINE V sum(int gate) const {
    const V chain = load(row.sums + gate * row.units);
    return hn::Add(hn::Add(chain, bias(row.input_bias, gate)), bias(row.hidden_bias, gate));
  }
  HWY_INLINE V sigmoid(int gate) const { return function::sigmoid<HighwayLanes>(sum(gate)); }
  HWY_INLINE void store(V x, float* to) const { store_first(count, canonical(x), to + at); }
};

struct RnnUnits {
  static HWY_INLINE void of(const Units& u) {
    u.store(function::tanh<HighwayLanes>(u.sum(0)), u.row.hidden);
  }
};
struct LstmUnits {  // gates i, o, f, c
  static HWY_INLINE void of(const Units& u) {
    const V i = u.sigmoid(0), o = u.sigmoid(1), f = u.sigmoid(2);
    const V g = function::tanh<HighwayLanes>(u.sum(3));
    const V cell = hn::MulAdd(f, u.load(u.row.cell), hn::Mul(i, g));
    u.store(cell, u.row.cell);
    u.store(hn::Mul(o, function::tanh<HighwayLanes>(cell)), u.row.hidden);
  }
};
struct GruReset {  // gate r of z, r, n
  static HWY_INLINE void of(const Units& u) {
    const V r = u.sigmoid(1);
    // Before a product over h, r goes into it; after it, r is kept.
    u.store(u.row.hidden_sums == nullptr ? hn::Mul(r, u.load(u.row.before)) : r, u.row.reset);
  }
};
struct GruUnits {
  static HWY_INLINE V candidate(const Units& u) {
    if (u.row.hidden_sums == nullptr) return u.sum(2);
    const V inner = hn::Add(u.load(u.row.hidden_sums), u.bias(u.row.hidden_bias, 2));
    const V sum = hn::MulAdd(u.load(u.row.reset), inner, u.load(u.row.sums + 2 * u.row.units));
    return hn::Add(sum, u.bias(u.row.input_bias, 2));
  }
  static HWY_INLINE void of(const Units& u) {
    const V z = u.sigmoid(0), n = function::tanh<HighwayLanes>(candidate(u));
    const V rest = hn::Mul(hn::Sub(hn::Set(kFloats, 1.0f), z), n);
    u.store(hn::MulAdd(z, u.load(u.row.before), rest), u.row.hidden);
  }
};

template <class Cell>
void cell_row(const CellRow& row) {
  for (std::int64_t at = 0; at < row.units; at += kLanes) {
    Cell::of({row, at, static_cast<int>(std::min<std::int64_t>(row.units - at, kLanes))});
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
