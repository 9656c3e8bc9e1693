// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/halves.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

void halves(const float* x, std::uint16_t* y, std::int64_t count) {
  const hn::Rebind<hwy::float16_t, Floats> narrow;
  const hn::Rebind<std::uint16_t, Floats> words;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto made = hn::DemoteTo(narrow, canonical(hn::LoadU(kFloats, x + i)));
    hn::StoreU(hn::BitCast(words, made), words, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    HWY_ALIGN std::uint16_t lanes[kLanes];
    const auto made = hn::DemoteTo(narrow, canonical(load_first(rest, x + i)));
    hn::Store(hn::BitCast(words, made), words, lanes);
    std::copy_n(lanes, rest, y + i);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

cpu::HalvesFn cpu::halves_for(Isa isa) { return COMMENSAL_OF_ISA(isa, halves); }

}  // namespace commensal::kernels
#endif  // HWY_ONCE
