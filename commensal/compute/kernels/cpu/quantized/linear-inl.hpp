// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: numbers to codes and back.
#if defined(COMMENSAL_CPU_CODES_LINEAR_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_CODES_LINEAR_INL
#undef COMMENSAL_CPU_CODES_LINEAR_INL
#else
#define COMMENSAL_CPU_CODES_LINEAR_INL
#endif

#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/quantized/dot-inl.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// code(v) of docs/numerics.md, before it is stored in 8 bits (which saturates). What is beyond
/// +-1024 saturates whatever the zero point; NaN counts as 0. Adding 1.5 * 2^23 rounds a number to
/// an integer, to nearest even, that then is in the low bits.
template <bool kMayBeNan>
HWY_INLINE Ints code_of(V scaled, Ints zero) {
  constexpr float kRound = 0x1.8p23f;
  const V number = kMayBeNan ? hn::IfThenElseZero(hn::Eq(scaled, scaled), scaled) : scaled;
  const V bounded = hn::Min(hn::Max(number, hn::Set(kFloats, -1024.0f)), hn::Set(kFloats, 1024.0f));
  const Ints bits = hn::BitCast(kInts, hn::Add(bounded, hn::Set(kFloats, kRound)));
  return hn::Add(bits, hn::Sub(zero, hn::BitCast(kInts, hn::Set(kFloats, kRound))));
}

/// The first `count` of a vector, saturated.
template <class Code>
HWY_INLINE void store_codes(Ints codes, Code* to, int count) {
  if constexpr (sizeof(Code) == sizeof(std::int32_t)) {
    if (count >= kLanes) return hn::StoreU(codes, kInts, to);
    HWY_ALIGN Code some[kLanes];
    hn::Store(codes, kInts, some);
    std::copy_n(some, count, to);
  } else {
    const hn::Rebind<Code, hn::RebindToSigned<Floats>> narrow;
    const auto saturated = hn::DemoteTo(narrow, codes);
    if (count >= kLanes) return hn::StoreU(saturated, narrow, to);
    HWY_ALIGN Code some[kLanes];
    hn::StoreU(saturated, narrow, some);
    std::copy_n(some, count, to);
  }
}

/// The first `count` of a vector; what others are is of no interest.
template <class T, class D>
HWY_INLINE hn::Vec<D> load_some(D d, const T* from, int count) {
  if (count >= kLanes) return hn::LoadU(d, from);
  HWY_ALIGN T some[kLanes] = {};
  std::copy_n(from, count, some);
  return hn::LoadU(d, some);
}
template <class T, class D>
HWY_INLINE hn::Vec<D> load_step(D d, const T* from, std::int64_t i, int step, int count) {
  return step == 0 ? hn::Set(d, *from) : load_some(d, from + i, count);
}

/// Sums [j, j + kLanes) of row r, finished but for the factor.
HWY_INLINE Ints finished_sums(const CodeFinish& f, std::int64_t r, int j, Ints same) {
  const int count = f.columns - j;
  Ints sum = hn::LoadU(kInts, f.c + r * f.c_step + j);
  sum = hn::Add(sum, same);
  if (f.column_zeros_step != 0) {
    const Ints zeros = load_some(kInts, f.column_zeros + j, count);
    sum = hn::Add(sum, hn::Mul(hn::Set(kInts, f.row_terms[r]), zeros));
  }
  if (f.row_zeros != nullptr && f.row_zeros[r] != 0) {
    const Ints sums = load_some(kInts, f.column_sums + j, count);
    sum = hn::Add(sum, hn::Mul(hn::Set(kInts, f.row_zeros[r]), sums));
  }
  return sum;
}

template <bool kMayBeNan, class Code>
HWY_INLINE void finish_row(const CodeFinish& f, std::int64_t r, Code* to) {
  std::uint32_t bias = f.bias == nullptr ? 0 : static_cast<std::uint32_t>(f.bias[r]);
  if (f.column_zeros_step == 0) {
    bias +=
        static_cast<std::uint32_t>(f.row_terms[r]) * static_cast<std::uint32_t>(*f.column_zeros);
  }
  const Ints same = hn::Set(kInts, static_cast<std::int32_t>(bias));
  for (int j = 0; j < f.columns; j += kLanes) {
    const int count = f.columns - j;
    Ints sum = finished_sums(f, r, j, same);
    if constexpr (sizeof(Code) == 1) {
      const V factor =
          load_step(kFloats, f.factors + r * f.factors_row_step, j, f.factors_column_step, count);
      sum = code_of<kMayBeNan>(hn::Mul(hn::ConvertTo(kFloats, sum), factor),
                               hn::Set(kInts, f.zeros[r * f.zeros_step]));
    }
    store_codes(sum, to + j, count);
  }
}

// What is written are bytes, which might lie anywhere: the copy is known not to change.
template <class Code>
inline void finish_rows(const CodeFinish& given) {
  const CodeFinish f = given;
  for (std::int64_t r = 0; r < f.rows; ++r) {
    Code* const to = static_cast<Code*>(f.to) + r * f.to_step;
    // A sum times a finite factor is a number.
    const bool one_factor = sizeof(Code) == 1 && f.factors_column_step == 0;
    if (one_factor && std::isfinite(f.factors[r * f.factors_row_step])) {
      finish_row<false>(f, r, to);
    } else {
      finish_row<true>(f, r, to);
    }
  }
}

inline void finish_codes(const CodeFinish& f) {
  if (f.type == tensor::DType::kInt32) return finish_rows<std::int32_t>(f);
  if (f.type == tensor::DType::kUint8) return finish_rows<std::uint8_t>(f);
  finish_rows<std::int8_t>(f);
}

template <class Code>
inline void quantise_row(const LinearRow& given, const float* from, Code* to) {
  const LinearRow row = given;  // as above
  for (std::int64_t i = 0; i < row.count; i += kLanes) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kLanes, row.count - i));
    const V scale = load_step(kFloats, row.scales, i, row.scales_step, count);
    const Ints zero = load_step(kInts, row.zeros, i, row.zeros_step, count);
    store_codes(code_of<true>(hn::Div(load_some(kFloats, from + i, count), scale), zero), to + i,
                count);
  }
}

inline void quantise(const LinearRow& row, const float* from, std::uint8_t* to) {
  if (row.codes == tensor::DType::kUint8) return quantise_row(row, from, to);
  quantise_row(row, from, reinterpret_cast<std::int8_t*>(to));
}

template <class Code>
HWY_INLINE Ints load_codes(const Code* from, int count) {
  if constexpr (sizeof(Code) == sizeof(std::int32_t)) {
    return load_some(kInts, from, count);
  } else {
    const hn::Rebind<Code, hn::RebindToSigned<Floats>> narrow;
    return hn::PromoteTo(kInts, load_some(narrow, from, count));
  }
}

template <class Code>
inline void dequantise_row(const LinearRow& row, const Code* from, float* to) {
  const bool one = row.scales_step == 0 && row.zeros_step == 0;
  const V same_scale = hn::Set(kFloats, *row.scales);
  const Ints same_zero = hn::Set(kInts, *row.zeros);
  const auto put = [&](std::int64_t i, int count, V scale, Ints zero) HWY_ATTR {
    const Ints code = hn::Sub(load_codes(from + i, count), zero);
    store_first(count, canonical(hn::Mul(hn::ConvertTo(kFloats, code), scale)), to + i);
  };
  std::int64_t i = 0;
  for (; one && i + kLanes <= row.count; i += kLanes) put(i, kLanes, same_scale, same_zero);
  for (; i < row.count; i += kLanes) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kLanes, row.count - i));
    put(i, count, load_step(kFloats, row.scales, i, row.scales_step, count),
        load_step(kInts, row.zeros, i, row.zeros_step, count));
  }
}

inline void dequantise(const LinearRow& row, const void* from, float* to) {
  if (row.codes == tensor::DType::kUint8) {
    return dequantise_row(row, static_cast<const std::uint8_t*>(from), to);
  }
  if (row.codes == tensor::DType::kInt8) {
    return dequantise_row(row, static_cast<const std::int8_t*>(from), to);
  }
  dequantise_row(row, static_cast<const std::int32_t*>(from), to);
}

inline Extremes extremes(const float* from, std::int64_t count) {
  V low = hn::Zero(kFloats), high = low, odd = low;  // odd: NaN where one was met
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const V x =
        load_some(kFloats, from + i, static_cast<int>(std::min<std::int64_t>(kLanes, count - i)));
    const V number = hn::IfThenElseZero(hn::Eq(x, x), x);
    odd = hn::IfThenElse(hn::IsNaN(x), x, odd);
    low = hn::Min(low, number);
    high = hn::Max(high, number);
  }
  HWY_ALIGN float lows[kLanes], highs[kLanes], odds[kLanes];
  hn::Store(low, kFloats, lows);
  hn::Store(high, kFloats, highs);
  hn::Store(odd, kFloats, odds);
  Extremes found;
  for (int i = 0; i < kLanes; ++i) {
    if (odds[i] != odds[i]) return {odds[i], odds[i]};
    found.low = std::min(found.low, lows[i]);
    found.high = std::max(found.high, highs[i]);
  }
  return found;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
