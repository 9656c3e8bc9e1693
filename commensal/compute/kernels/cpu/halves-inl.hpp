// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: binary16 to binary32 and back.
#if defined(COMMENSAL_CPU_HALVES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_HALVES_INL
#undef COMMENSAL_CPU_HALVES_INL
#else
#define COMMENSAL_CPU_HALVES_INL
#endif

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

using Halves = hn::Rebind<hwy::float16_t, Floats>;
inline constexpr Halves kHalves;

/// A vector at a time, the last one by way of memory of its own.
template <class From, class To, class Convert>
HWY_INLINE void convert_all(const From* from, To* to, std::int64_t count, const Convert& convert) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) convert(from, to);
  if (count == 0) return;
  HWY_ALIGN From last[kLanes] = {};
  HWY_ALIGN To made[kLanes];
  std::memcpy(last, from, static_cast<std::size_t>(count) * sizeof(From));
  convert(last, made);
  std::memcpy(to, made, static_cast<std::size_t>(count) * sizeof(To));
}

inline void widen(const std::uint16_t* from, float* to, std::int64_t count) {
  convert_all(from, to, count, [](const std::uint16_t* x, float* y) HWY_ATTR {
    const auto halves = hn::LoadU(kHalves, reinterpret_cast<const hwy::float16_t*>(x));
    hn::StoreU(canonical(hn::PromoteTo(kFloats, halves)), kFloats, y);
  });
}

inline void narrow(const float* from, std::uint16_t* to, std::int64_t count) {
  convert_all(from, to, count, [](const float* x, std::uint16_t* y) HWY_ATTR {
    const auto halves = hn::DemoteTo(kHalves, canonical(hn::LoadU(kFloats, x)));
    hn::StoreU(halves, kHalves, reinterpret_cast<hwy::float16_t*>(y));
  });
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
