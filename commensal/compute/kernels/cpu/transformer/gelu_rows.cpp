// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/transformer/gelu_rows.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/special-inl.hpp>
#include <commensal/compute/kernels/cpu/transformer/gelu_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// A row is too short for two vectors at a time to go into it evenly: they come from two rows.
/// (The last of an odd number of rows is its own twin.)
void gelu_rows(const GeluRows& g) {
  for (std::int64_t row = 0; row < g.rows; row += 2) {
    float* const first = g.x + row * g.step;
    float* const second = g.x + std::min(row + 1, g.rows - 1) * g.step;
    for (std::int64_t i = 0; i < g.width; i += kLanes) {
      const auto rest = static_cast<int>(std::min<std::int64_t>(g.width - i, kLanes));
      const TwinLanes::V x = {load_first(rest, first + i), load_first(rest, second + i)};
      const auto e = erf_of_number<TwinLanes>(TwinLanes::div(x, TwinLanes::set(g.divisor)));
      const auto product = TwinLanes::mul(x, TwinLanes::add(e, TwinLanes::set(1.0f)));
      const auto y = TwinLanes::mul(product, TwinLanes::set(0.5f));
      store_first(rest, canonical(y.a), first + i);
      store_first(rest, canonical(y.b), second + i);
    }
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

cpu::GeluRowsFn cpu::gelu_rows_for(Isa isa) { return COMMENSAL_OF_ISA(isa, gelu_rows); }

}  // namespace commensal::kernels
#endif  // HWY_ONCE
