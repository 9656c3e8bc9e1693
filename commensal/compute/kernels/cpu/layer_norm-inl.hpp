// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: one row of a layer normalisation, which stays in the first
// cache between its three passes.
#if defined(COMMENSAL_CPU_LAYER_NORM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_LAYER_NORM_INL
#undef COMMENSAL_CPU_LAYER_NORM_INL
#else
#define COMMENSAL_CPU_LAYER_NORM_INL
#endif

#include <cmath>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/special-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// y = finish(x, scale, bias), element by element.
template <class Finish>
HWY_INLINE void normalised_row(const NormRow& row, const Finish& finish) {
  const V zero = hn::Zero(kFloats);
  std::int64_t i = 0;
  for (; i + kLanes <= row.count; i += kLanes) {
    const V bias = row.bias == nullptr ? zero : hn::LoadU(kFloats, row.bias + i);
    hn::StoreU(finish(hn::LoadU(kFloats, row.x + i), hn::LoadU(kFloats, row.scale + i), bias),
               kFloats, row.y + i);
  }
  if (const auto rest = static_cast<int>(row.count - i); rest > 0) {
    const V bias = row.bias == nullptr ? zero : load_first(rest, row.bias + i);
    store_first(rest, finish(load_first(rest, row.x + i), load_first(rest, row.scale + i), bias),
                row.y + i);
  }
}

inline NormFacts norm_facts(const float* from, std::int64_t elements, float epsilon) {
  const auto count = static_cast<float>(elements);
  const float mean = sum_of_32(from, elements) / count;
  const V mean_v = hn::Set(kFloats, mean);
  const float squares = sum_of_32(from, elements, [&](V x) HWY_ATTR {
    const V d = hn::Sub(x, mean_v);
    return hn::Mul(d, d);
  });
  return {mean, 1.0f / std::sqrt(squares / count + epsilon)};
}

inline NormFacts layer_norm(const NormRow& row) {
  const NormFacts facts = norm_facts(row.x, row.count, row.epsilon);
  const V mean_v = hn::Set(kFloats, facts.mean), factor_v = hn::Set(kFloats, facts.scale);
  const auto finish = [&](V x, V scale, V bias) HWY_ATTR {
    return canonical(hn::MulAdd(hn::Mul(hn::Sub(x, mean_v), factor_v), scale, bias));
  };
  normalised_row(row, finish);
  return facts;
}

/// The sum of pow(x - mean, 2) in 32 lanes.
HWY_INLINE float powers_of_2(const float* x, std::int64_t count, V mean) {
  V acc[kSumVectors];
  for (V& one : acc) one = absent();
  for (; count > 0; count -= kSumLanes, x += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kSumVectors; v += 2) {
      const std::int64_t rest = count - v * kLanes;
      const auto left = static_cast<int>(std::clamp<std::int64_t>(rest, 0, kLanes));
      const auto right = static_cast<int>(std::clamp<std::int64_t>(rest - kLanes, 0, kLanes));
      const V a = hn::Sub(load_first(left, x + v * kLanes), mean);
      const V b = hn::Sub(load_first(right, x + (v + 1) * kLanes), mean);
      const auto power = pow_of_2<TwinLanes>({a, b});
      acc[v] = hn::Add(acc[v], hn::IfThenElse(first(left), power.a, absent()));
      acc[v + 1] = hn::Add(acc[v + 1], hn::IfThenElse(first(right), power.b, absent()));
    }
  }
  return tree_of_vectors(acc);
}

/// What opsets before 17 write in nine operators, each rounding by itself: with d = x - mean and
/// variance = mean of pow(d, 2), y = d / sqrt(variance + epsilon) * scale + bias.
inline void layer_norm_steps(const NormRow& row) {
  const auto count = static_cast<float>(row.count);
  const V mean = hn::Set(kFloats, sum_of_32(row.x, row.count) / count);
  const float powers = powers_of_2(row.x, row.count, mean);
  const V deviation = hn::Set(kFloats, std::sqrt(powers / count + row.epsilon));
  const auto finish = [&](V x, V scale, V bias) HWY_ATTR {
    const V ratio = hn::Div(hn::Sub(x, mean), deviation);
    return canonical(hn::Add(hn::Mul(ratio, scale), bias));
  };
  normalised_row(row, finish);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
