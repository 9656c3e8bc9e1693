// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/transformer/weighted_row.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/transformer/weighted_row.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <optional>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline bool is_subnormal(float weight) { return weight != 0 && weight < 0x1p-126f; }

inline bool has_subnormal(const float* weights, std::int64_t count) {
  const hn::RebindToUnsigned<Floats> bits;  // as integers: what compares floats may be slow too
  const auto one = hn::Set(bits, 1u), end = hn::Set(bits, 0x007fffffu);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const auto w = hn::BitCast(bits, load_first(rest, weights + i));
    // 0 wraps to the largest.
    if (!hn::AllFalse(bits, hn::Lt(hn::Sub(w, one), end))) return true;
  }
  return false;
}

/// All steps for one vector of columns.
HWY_INLINE V whole_chain(const WeightedRow& row, const float* v) {
  V acc = hn::Zero(kFloats);
  for (std::int64_t k = 0; k < row.count; ++k, v += row.v_step) {
    acc = hn::MulAdd(hn::Set(kFloats, row.weights[k]), hn::LoadU(kFloats, v), acc);
  }
  return acc;
}

HWY_INLINE bool all_at_least(V x, float least) {
  return hn::AllTrue(kFloats, hn::Ge(hn::Abs(x), hn::Set(kFloats, least)));
}

/// The first step with a weight that counts, where the sum so far is below 2^-90 but not known:
/// with |x| >= 2^-30 that sum decides only where the product is within 2^-20 of half a last place
/// of the middle between two numbers. None where it may decide.
HWY_INLINE bool first_step(V weight, V v, V& acc) {
  const V product = hn::Mul(weight, v);
  const V rest = hn::MulSub(weight, v, product);  // exact
  const V beyond = hn::Mul(rest, hn::Set(kFloats, 1 + 0x1p-20f));
  acc = product;
  return all_at_least(product, 0x1p-30f) &&
         hn::AllTrue(kFloats, hn::Eq(hn::Add(product, beyond), product));
}

/// The same bits without subnormal weights; false where that cannot be said. A step that is left
/// out would add at most 2^-126 * 2^20 to a sum of at least 2^-60, which rounds to that sum; or it
/// comes before all that count, and `first_step` looks after it.
HWY_INLINE bool short_chain(const WeightedRow& row, const float* v, V& acc) {
  acc = hn::Zero(kFloats);
  bool begun = false, pending = false;
  for (std::int64_t k = 0; k < row.count; ++k, v += row.v_step) {
    const V weight = hn::Set(kFloats, row.weights[k]), one = hn::LoadU(kFloats, v);
    if (is_subnormal(row.weights[k]) || (pending && row.weights[k] == 0)) {
      const bool moderate = hn::AllTrue(kFloats, hn::Le(hn::Abs(one), hn::Set(kFloats, 0x1p20f)));
      if (!moderate || (begun && !all_at_least(acc, 0x1p-60f))) return false;
      pending = pending || !begun;
    } else if (pending) {
      if (!first_step(weight, one, acc)) return false;
      begun = true, pending = false;
    } else {
      acc = hn::MulAdd(weight, one, acc);
      begun = true;
    }
  }
  return !pending;
}

inline void weighted_row(const WeightedRow& row) {
  for (std::int64_t j = 0; j < row.columns; j += kLanes) {
    V acc;
    if (!short_chain(row, row.v + j, acc)) acc = whole_chain(row, row.v + j);
    const auto rest = static_cast<int>(std::min<std::int64_t>(row.columns - j, kLanes));
    store_first(rest, canonical(hn::Add(acc, hn::Zero(kFloats))), row.y + j);
  }
}

const WeightedRowKernels& weighted_row_kernels() {
  static constexpr WeightedRowKernels kKernels = {has_subnormal, weighted_row};
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::WeightedRowKernels& cpu::weighted_row_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, weighted_row_kernels());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
