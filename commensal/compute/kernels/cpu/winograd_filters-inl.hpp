// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the filter transform of the Winograd clause, a vector of
// output channels at a time.
#if defined(COMMENSAL_CPU_WINOGRAD_FILTERS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_WINOGRAD_FILTERS_INL
#undef COMMENSAL_CPU_WINOGRAD_FILTERS_INL
#else
#define COMMENSAL_CPU_WINOGRAD_FILTERS_INL
#endif

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <commensal/compute/kernels/math/device.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

struct DoubleLanes {
  using V = VectorOf<double>;
  static HWY_INLINE V set(double x) { return hn::Set(LanesOf<double>(), x); }
  static HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V mul(V a, V b) { return hn::Mul(a, b); }
};

namespace function {
#include <commensal/compute/kernels/math/winograd_filter_inl.hpp>
}  // namespace function

template <int M>
inline void winograd_filters(const WinogradFilters& w) {
  constexpr int kPoints = (M + 2) * (M + 2), kDoubles = kLanesOf<double>;
  const LanesOf<double> d;
  const hn::Rebind<float, LanesOf<double>> rounded;
  for (int row = 0; row < w.rows; row += kDoubles) {
    const int count = std::min(kDoubles, w.rows - row);
    HWY_ALIGN double filters[9][kDoubles] = {};
    for (int i = 0; i < count; ++i) {
      const float* const from = w.from + (row + i) * w.row_step;
      for (int k = 0; k < 9; ++k) filters[k][i] = static_cast<double>(from[k]);
    }
    DoubleLanes::V f[9], u[kPoints];
    for (int k = 0; k < 9; ++k) f[k] = hn::Load(d, filters[k]);
    function::winograd_filter_in<DoubleLanes, M>(f, u);
    HWY_ALIGN float whole[kDoubles];
    for (int p = 0; p < kPoints; ++p) {
      float* const out = w.out + p * w.point_step + row;
      if (count == kDoubles) {
        hn::StoreU(hn::DemoteTo(rounded, u[p]), rounded, out);
      } else {
        hn::Store(hn::DemoteTo(rounded, u[p]), rounded, whole);
        std::copy_n(whole, count, out);
      }
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
