// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/extremes.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/extremes-inl.hpp>
#include <commensal/compute/kernels/cpu/extremes.hpp>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <class T, bool kMost>
HWY_INLINE VectorOf<T> extreme_of(VectorOf<T> a, VectorOf<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    using O = Order<T, kMost>;
    return O::value(O::better(O::key(a), O::key(b)));
  } else {
    return kMost ? hn::Max(a, b) : hn::Min(a, b);
  }
}

template <class T, bool kMost>
void extremes(const void* from_a, int a_step, const void* from_b, int b_step, void* to,
              std::int64_t count) {
  if (count <= 0) return;
  const LanesOf<T> d;
  const T *const a = static_cast<const T*>(from_a), *const b = static_cast<const T*>(from_b);
  T* const y = static_cast<T*>(to);
  const auto same_a = hn::Set(d, *a), same_b = hn::Set(d, *b);
  std::int64_t i = 0;
  for (; i + kLanesOf<T> <= count; i += kLanesOf<T>) {
    const auto left = a_step == 0 ? same_a : hn::LoadU(d, a + i);
    const auto right = b_step == 0 ? same_b : hn::LoadU(d, b + i);
    hn::StoreU(extreme_of<T, kMost>(left, right), d, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    const auto left = a_step == 0 ? same_a : load_first(rest, a + i);
    const auto right = b_step == 0 ? same_b : load_first(rest, b + i);
    store_first(rest, extreme_of<T, kMost>(left, right), y + i);
  }
}

template <bool kMost>
ExtremeFn extremes_for(tensor::DType dtype) {
  using tensor::DType;
  switch (dtype) {
    case DType::kFloat64:
      return extremes<double, kMost>;
    case DType::kInt8:
      return extremes<std::int8_t, kMost>;
    case DType::kInt16:
      return extremes<std::int16_t, kMost>;
    case DType::kInt32:
      return extremes<std::int32_t, kMost>;
    case DType::kInt64:
      return extremes<std::int64_t, kMost>;
    case DType::kUint8:
      return extremes<std::uint8_t, kMost>;
    case DType::kUint16:
      return extremes<std::uint16_t, kMost>;
    case DType::kUint32:
      return extremes<std::uint32_t, kMost>;
    case DType::kUint64:
      return extremes<std::uint64_t, kMost>;
    default:
      return nullptr;
  }
}

using Largest = Order<double, true>;

inline void largest_of_rows(const double* x, const std::int64_t* rows, std::int64_t count,
                            std::int64_t* keys, std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; i += kLanesOf<double>) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(columns - i, kLanesOf<double>));
    auto best = Largest::start();
    for (std::int64_t p = 0; p < count; ++p) {
      best = Largest::better(best, Largest::key(load_first(rest, x + rows[p] + i)));
    }
    store_first(rest, best, keys + i);
  }
}

inline void largest_of_taps(const std::int64_t* keys, std::int64_t stride, std::int64_t taps,
                            std::int64_t dilation, double* y, std::int64_t count) {
  const Largest::Integers d;
  HWY_ALIGN std::int64_t places[kLanesOf<double>];
  for (std::int64_t i = 0; i < count; i += kLanesOf<double>) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanesOf<double>));
    if (i == 0 || rest < kLanesOf<double>) {
      for (int l = 0; l < kLanesOf<double>; ++l) places[l] = std::min(l, rest - 1) * stride;
    }
    const auto where = hn::Load(d, places);
    auto best = Largest::start();
    for (std::int64_t t = 0; t < taps; ++t) {
      best = Largest::better(best, hn::GatherIndex(d, keys + i * stride + t * dilation, where));
    }
    store_first(rest, Largest::value(best), y + i);
  }
}

inline constexpr WindowKernels kWindowKernels = {largest_of_rows, largest_of_taps};

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

cpu::ExtremeFn cpu::larger_for(Isa isa, tensor::DType dtype) {
  return COMMENSAL_OF_ISA(isa, extremes_for<true>(dtype));
}
cpu::ExtremeFn cpu::smaller_for(Isa isa, tensor::DType dtype) {
  return COMMENSAL_OF_ISA(isa, extremes_for<false>(dtype));
}
const cpu::WindowKernels& cpu::window_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, kWindowKernels);
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
