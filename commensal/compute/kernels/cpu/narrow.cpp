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
struct ToBfloat16 {
  using Stored = std::uint16_t;
  static HWY_INLINE auto of(V x) {
    const hn::RebindToUnsigned<Floats> d;
    const auto bits = hn::BitCast(d, canonical(x));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fffu)));
    return hn::TruncateTo(hn::Rebind<std::uint16_t, Floats>(), hn::ShiftRight<16>(rounded));
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

using HalfBits = hn::Rebind<std::uint16_t, Floats>;
struct FromHalf {
  static HWY_INLINE V of(hn::Vec<HalfBits> bits) {
    return hn::PromoteTo(kFloats, hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), bits));
  }
};
struct FromBfloat16 {
  static HWY_INLINE V of(hn::Vec<HalfBits> bits) {
    const hn::RebindToUnsigned<Floats> d;
    return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(d, bits)));
  }
};

template <class From>
void widen(const std::uint16_t* x, float* y, std::int64_t count) {
  const auto widened = [](const std::uint16_t* from)
                           HWY_ATTR { return canonical(From::of(hn::LoadU(HalfBits(), from))); };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(widened(x + i), kFloats, y + i);
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    HWY_ALIGN std::uint16_t lanes[kLanes] = {};
    std::copy_n(x + i, rest, lanes);
    store_first(rest, widened(lanes), y + i);
  }
}

const NarrowKernels& narrow_kernels() {
  static constexpr NarrowKernels kKernels = {narrow<ToHalf>,
                                             widen<FromHalf>,
                                             narrow<ToBfloat16>,
                                             widen<FromBfloat16>,
                                             narrow<ToByte<std::uint8_t>>,
                                             narrow<ToByte<std::int8_t>>};
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
