// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp; here AVX-512 with VNNI is one of its own.
// (Highway knows VNNI as part of what Ice Lake added, AVX3_DL.)
#define HWY_WANT_AVX3_DL
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/quantized/lanes.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/quantized/linear-inl.hpp>
#include <commensal/compute/kernels/cpu/quantized/pack-inl.hpp>
#include <commensal/compute/kernels/cpu/quantized/taps-inl.hpp>
#include <commensal/compute/kernels/cpu/quantized/tile-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

const CodeKernels& code_kernels() {
  static constexpr CodeKernels kKernels = {
#if HWY_TARGET == HWY_AVX3_DL
    .name = "avx512 with VNNI",
#elif HWY_TARGET == HWY_AVX3
    .name = "avx512",
#elif HWY_TARGET == HWY_AVX2
    .name = "avx2",
#else
    .name = "neon",
#endif
    .lanes = kLanes,
    .tile_rows = kTileRows,
    .tile_columns = kCodeColumns,
    .left_parts = kLeftParts,
    .product = code_product,
    .left_row = left_row,
    .right_rows = right_rows,
    .taps = code_taps,
    .finish = finish_codes,
    .quantise = quantise,
    .dequantise = dequantise,
    .extremes = extremes,
  };
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <commensal/base/core/check.hpp>
#include <vector>

namespace commensal::kernels::cpu {

namespace {
struct TargetRow {
  Isa isa;
  std::int64_t target;
  const CodeKernels& (*kernels)();
};
// Of one instruction set, the best comes last.
#if HWY_ARCH_X86
constexpr TargetRow kRows[] = {{Isa::kAvx2, HWY_AVX2, N_AVX2::code_kernels},
                               {Isa::kAvx512, HWY_AVX3, N_AVX3::code_kernels},
                               {Isa::kAvx512, HWY_AVX3_DL, N_AVX3_DL::code_kernels}};
#else
constexpr TargetRow kRows[] = {{Isa::kNeon, HWY_NEON, N_NEON::code_kernels}};
#endif

// Asked once: the question traps in a virtual machine.
bool is_supported(const TargetRow& row) {
  static const std::int64_t kSupported = HWY_SUPPORTED_TARGETS;
  return (kSupported & row.target) != 0;
}
}  // namespace

std::span<const CodeKernels* const> available_code_kernels() {
  static const std::vector<const CodeKernels*> kAll = [] {
    std::vector<const CodeKernels*> all;
    for (const TargetRow& row : kRows) {
      if (is_supported(row)) all.push_back(&row.kernels());
    }
    return all;
  }();
  return kAll;
}

const CodeKernels& code_kernels_for(Isa isa) {
  const CodeKernels* best = nullptr;
  for (const TargetRow& row : kRows) {
    if (row.isa == isa && is_supported(row)) best = &row.kernels();
  }
  core::check(best != nullptr, "only an instruction set of this machine is asked for");
  return *best;
}

}  // namespace commensal::kernels::cpu
#endif  // HWY_ONCE
