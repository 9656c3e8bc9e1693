// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/weighted_line.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <commensal/compute/kernels/cpu/weighted_line.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <class C>
struct LineLanes {
  using D = hn::ScalableTag<C>;
  using I = hn::RebindToSigned<D>;
  using Vec = hn::Vec<D>;
  static constexpr D kC = {};
  static constexpr I kI = {};
  static constexpr int kCount = static_cast<int>(HWY_MAX_BYTES / sizeof(C));

  /// The weights of one tap, a vector of places; the product is one of floats.
  static HWY_INLINE Vec weights(float of_line, const float* own) {
    const hn::Rebind<float, D> floats;
    const auto product = hn::Mul(hn::Set(floats, of_line), hn::LoadU(floats, own));
    if constexpr (sizeof(C) == 8) {
      return hn::PromoteTo(kC, product);
    } else {
      return product;
    }
  }
  static HWY_INLINE Vec gathered(const C* x, const std::int32_t* index) {
    if constexpr (sizeof(C) == 8) {
      const hn::Rebind<std::int32_t, D> ints;
      return hn::GatherIndex(kC, x, hn::PromoteTo(kI, hn::LoadU(ints, index)));
    } else {
      return hn::GatherIndex(kC, x, hn::LoadU(kI, index));
    }
  }
  static HWY_INLINE Vec load(const C* from, std::int64_t count) {
    if (count >= kCount) return hn::LoadU(kC, from);
    HWY_ALIGN C lanes[kCount] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
    return hn::Load(kC, lanes);
  }
  static HWY_INLINE void store(Vec y, C* to, std::int64_t count) {
    if (count >= kCount) return hn::StoreU(y, kC, to);
    HWY_ALIGN C lanes[kCount];
    hn::Store(y, kC, lanes);
    for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
};

/// fma where the weight is not 0.
template <class L>
HWY_INLINE void take(typename L::Vec weight, typename L::Vec x, typename L::Vec& acc,
                     hn::Mask<typename L::D>& any) {
  const auto counts = hn::Ne(weight, hn::Zero(L::kC));
  acc = hn::IfThenElse(counts, hn::MulAdd(weight, x, acc), acc);
  any = hn::Or(any, counts);
}

template <class C, bool kLaid>
void weighted_places(const WeightedLine<C>& l) {
  using L = LineLanes<C>;
  for (std::int64_t p = 0; p < l.count; p += L::kCount) {
    auto acc = hn::Zero(L::kC);
    auto any = hn::Ne(acc, acc);
    for (std::int64_t r = 0; r < l.line_taps; ++r) {
      const C* const x = l.x + l.line[r].offset;
      for (std::int64_t k = 0, at = p; k < l.taps; ++k, at += l.step) {
        const auto one = kLaid ? hn::LoadU(L::kC, x + at) : L::gathered(x, l.index + at);
        take<L>(L::weights(l.line[r].weight, l.weights + at), one, acc, any);
      }
    }
    const auto mean = hn::Div(acc, hn::Set(L::kC, l.divisor));
    const auto y = hn::IfThenElse(any, mean, hn::Set(L::kC, l.outside));
    L::store(canonical(y), l.y + p, l.count - p);
  }
}

/// Places that lie side by side in the input too.
template <class C>
void weighted_runs(const WeightedLine<C>& l) {
  using L = LineLanes<C>;
  bool any = false;
  for (std::int64_t r = 0; r < l.line_taps; ++r) any = any || l.line[r].weight != 0;
  for (std::int64_t p = 0; p < l.count; p += L::kCount) {
    auto acc = any ? hn::Zero(L::kC) : hn::Set(L::kC, l.outside);
    for (std::int64_t r = 0; r < l.line_taps; ++r) {
      if (l.line[r].weight == 0) continue;
      const C* const x = l.x + l.line[r].offset + p;
      const auto weight = hn::Set(L::kC, static_cast<C>(l.line[r].weight));
      acc = hn::MulAdd(weight, L::load(x, l.count - p), acc);
    }
    if (any) acc = hn::Div(acc, hn::Set(L::kC, l.divisor));
    L::store(canonical(acc), l.y + p, l.count - p);
  }
}

template <class C>
void weighted_line(const WeightedLine<C>& l) {
  switch (l.own) {
    case OwnTaps::kItself:
      return weighted_runs(l);
    case OwnTaps::kListed:
      return weighted_places<C, false>(l);
    case OwnTaps::kLaid:
      return weighted_places<C, true>(l);
  }
}

/// By whole numbers in the order of extremes, as ref/fold_rows.hpp has them.
void largest_places(const WeightedLine<float>& l) {
  using L = LineLanes<float>;
  constexpr std::int32_t kNan = 0x7fffffff;
  const auto flipped = [](auto bits) {
    return hn::Xor(bits, hn::And(hn::ShiftRight<31>(bits), hn::Set(L::kI, kNan)));
  };
  const auto nan = hn::Set(L::kI, kNan);
  const auto start = flipped(hn::Set(L::kI, static_cast<std::int32_t>(0xff800000)));
  for (std::int64_t p = 0; p < l.count; p += L::kCount) {
    auto best = start;
    for (std::int64_t k = 0, at = p; k < l.taps; ++k, at += l.step) {
      const auto weight = L::weights(1, l.weights + at);
      const auto product = hn::Mul(weight, L::gathered(l.x, l.index + at));
      const auto one = hn::IfThenElse(hn::Eq(weight, hn::Zero(L::kC)), weight, product);
      const auto key = hn::IfThenElse(hn::RebindMask(L::kI, hn::IsNaN(one)), nan,
                                      flipped(hn::BitCast(L::kI, one)));
      best = hn::Max(best, key);
    }
    // The key of NaN is a NaN.
    const auto y = l.taps == 0 ? hn::Zero(L::kC) : hn::BitCast(L::kC, flipped(best));
    L::store(canonical(y), l.y + p, l.count - p);
  }
}

const WeightedLineKernels& weighted_line_kernels() {
  static constexpr WeightedLineKernels kKernels = {weighted_line<float>, weighted_line<double>,
                                                   largest_places};
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::WeightedLineKernels& cpu::weighted_line_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, weighted_line_kernels());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
