// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/chain_lanes.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/chain.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

void select_greater(const float* const* operands, const int* steps, float* y, std::int64_t count) {
  const auto load = [&](int k, std::int64_t i, int rest) {
    if (steps[k] == 0) return hn::Set(kFloats, *operands[k]);
    return rest < kLanes ? load_first(rest, operands[k] + i) : hn::LoadU(kFloats, operands[k] + i);
  };
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(count - i < kLanes ? count - i : kLanes);
    const auto above = hn::Gt(load(0, i, rest), load(1, i, rest));
    store_first(rest, hn::IfThenElse(above, load(2, i, rest), load(3, i, rest)), y + i);
  }
}

SelectFn select_greater_kernel() { return select_greater; }

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

cpu::SelectFn cpu::select_greater_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, select_greater_kernel());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
