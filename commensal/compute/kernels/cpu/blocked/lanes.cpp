// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/blocked/lanes.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>
#include <commensal/compute/kernels/cpu/blocked/lanes_row-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/planes-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/pool-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/row_product-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/winograd-inl.hpp>
#include <commensal/compute/kernels/cpu/winograd_filters-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

const BlockedKernels& blocked_kernels() {
  static constexpr BlockedKernels kKernels = {
      .lanes = kLanes,
      .vectors_max = kRowVectorsMax,
      .row_product = row_product,
      .lanes_row = lanes_row,
      .winograd_2 = {winograd_filters<2>, blocked_tile_in<2>, blocked_tile_out<2>},
      .winograd_4 = {winograd_filters<4>, blocked_tile_in<4>, blocked_tile_out<4>},
      .interleave = interleave,
      .binary = {plane_binary<Add>, plane_binary<Div>, nullptr, nullptr, plane_binary<Mul>, nullptr,
                 plane_binary<Sub>},
      .normalise = plane_normalise,
      .mean = plane_mean,
      .gate_sigmoid = gate_sigmoid,
      .gate_hard_sigmoid = gate_hard_sigmoid,
      .gather_channels = gather_channels,
      .maximum_row = maximum_row,
      .average_row = average_row,
  };
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::BlockedKernels& cpu::blocked_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, blocked_kernels());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
