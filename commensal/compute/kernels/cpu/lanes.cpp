// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by Highway's foreach_target; each gives a table of functions.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/lanes.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/elementwise-inl.hpp>
#include <commensal/compute/kernels/cpu/gemm-inl.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/layer_norm-inl.hpp>
#include <commensal/compute/kernels/cpu/softmax-inl.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <commensal/compute/kernels/cpu/tap_planes-inl.hpp>
#include <commensal/compute/kernels/cpu/taps-inl.hpp>
#include <commensal/compute/kernels/cpu/transpose-inl.hpp>
#include <commensal/compute/kernels/cpu/winograd-inl.hpp>
#include <commensal/compute/kernels/cpu/winograd_filters-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

const CpuKernels& kernels() {
  static constexpr CpuKernels kKernels = {
      .lanes = kLanes,
      .tile_rows = kTileRows,
      .tile_columns = kTileVectors * kLanes,
      .gemm = gemm<float>,
      .gemm_doubles = gemm<double>,
      .split_plane = split_plane,
      .gather_taps = gather_taps,
      .winograd_2 = {winograd_filters<2>, winograd_input_rows<2>, winograd_output_rows<2>},
      .winograd_4 = {winograd_filters<4>, winograd_input_rows<4>, winograd_output_rows<4>},
      .taps = {tap_plane, keys_of_row, placed_maximum, average_plane, neighbours, interpolate,
               largest_of_row},
      .sum = sum_of_32,
      .transpose_words = transpose_words,
      .layer_norm = layer_norm,
      .norm_facts = norm_facts,
      .layer_norm_steps = layer_norm_steps,
      .softmax = softmax_row,
      .log_softmax = log_softmax_row,
      .unary = kUnaryFns,
      .binary = kBinaryFns,
  };
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <commensal/base/core/check.hpp>

namespace commensal::kernels {

namespace {
struct IsaRow {
  Isa isa;
  std::string_view name;
  std::int64_t target;
  const cpu::CpuKernels& (*kernels)();
};
#if HWY_ARCH_X86
constexpr IsaRow kIsaRows[] = {
    {Isa::kAvx2, "avx2", HWY_AVX2, cpu::N_AVX2::kernels},
    {Isa::kAvx512, "avx512", HWY_AVX3, cpu::N_AVX3::kernels},
    {Isa::kNeon, "neon", HWY_NEON, nullptr},
};
#elif HWY_ARCH_ARM_A64
constexpr IsaRow kIsaRows[] = {
    {Isa::kAvx2, "avx2", HWY_AVX2, nullptr},
    {Isa::kAvx512, "avx512", HWY_AVX3, nullptr},
    {Isa::kNeon, "neon", HWY_NEON, cpu::N_NEON::kernels},
};
#else
#error "cpu/ is written for x86-64 and for 64-bit Arm"
#endif

const IsaRow& row_of(Isa isa) {
  for (const IsaRow& row : kIsaRows) {
    if (row.isa == isa) return row;
  }
  core::check(false, "every instruction set has a row");
  return kIsaRows[0];
}
}  // namespace

std::string_view name_of(Isa isa) { return row_of(isa).name; }

std::span<const Isa> available_isas() {
  // Each instruction set includes those before it.
#if HWY_ARCH_X86
  static constexpr Isa kAll[] = {Isa::kAvx2, Isa::kAvx512};
#else
  static constexpr Isa kAll[] = {Isa::kNeon};
#endif
  const std::int64_t supported = HWY_SUPPORTED_TARGETS;
  std::size_t count = 0;
  while (count < std::size(kAll) && (supported & row_of(kAll[count]).target) != 0) ++count;
  return {kAll, count};
}

const cpu::CpuKernels& cpu::kernels_for(Isa isa) { return row_of(isa).kernels(); }

}  // namespace commensal::kernels
#endif  // HWY_ONCE
