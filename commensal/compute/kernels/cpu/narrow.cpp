// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/narrow.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/narrow.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

struct ToHalf {
  using Stored = std::uint16_t;
  static HWY_INLINE auto of(V x) {
    const hn::Rebind<hwy::float16_t, Floats> half;
    return hn::BitCast(hn::Rebind<std::uint16_t, Floats>(), hn::DemoteTo(half, canonical(x)));
  }
};
template <class Byte>
struct ToByte {
  using Stored = std::uint8_t;
  static HWY_INLINE auto of(V x) {
    using Limits = std::numeric_limits<Byte>;
    const V number = hn::IfThenZeroElse(hn::IsNaN(x), x);
    const V high = hn::Min(number, hn::Set(kFloats, Limits::max()));
    const V inside = hn::Max(high, hn::Set(kFloats, Limits::min()));
    const auto whole = hn::ConvertTo(hn::RebindToSigned<Floats>(), inside);
    return hn::BitCast(hn::Rebind<std::uint8_t, Floats>(),
                       hn::DemoteTo(hn::Rebind<Byte, Floats>(), whole));
  }
};

template <class To>
void narrow(const float* x, typename To::Stored* y, std::int64_t count) {
  const hn::Rebind<typename To::Stored, Floats> d;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(To::of(hn::LoadU(kFloats, x + i)), d, y + i);
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    HWY_ALIGN typename To::Stored lanes[kLanes];
    hn::Store(To::of(load_first(rest, x + i)), d, lanes);
    std::copy_n(lanes, rest, y + i);
  }
}

void from_half(const std::uint16_t* x, float* y, std::int64_t count) {
  const hn::Rebind<std::uint16_t, Floats> d;
  const auto widened = [&](const std::uint16_t* from) HWY_ATTR {
    const auto half = hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), hn::LoadU(d, from));
    return canonical(hn::PromoteTo(kFloats, half));
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(widened(x + i), kFloats, y + i);
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    HWY_ALIGN std::uint16_t lanes[kLanes] = {};
    std::copy_n(x + i, rest, lanes);
    store_first(rest, widened(lanes), y + i);
  }
}

const NarrowKernels& narrow_kernels() {
  static constexpr NarrowKernels kKernels = {
      narrow<ToHalf>, from_half, narrow<ToByte<std::uint8_t>>, narrow<ToByte<std::int8_t>>};
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::NarrowKernels& cpu::narrow_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, narrow_kernels());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
