// SPDX-License-Identifier: Apache-2.0
// The instruction sets that cpu/ is compiled for, before <hwy/foreach_target.h> in every source
// that is. AVX-512 beyond the base set would add nothing but compile time, SSE has no fused
// multiply-add, and the length of SVE's vectors is no constant: those are left out.
#pragma once

#include <hwy/detect_compiler_arch.h>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// What each of them has by the name `name` in its namespace, the one of `isa`.
#if HWY_ARCH_X86
#define COMMENSAL_OF_ISA(isa, name) ((isa) == Isa::kAvx512 ? cpu::N_AVX3::name : cpu::N_AVX2::name)
#else
#define COMMENSAL_OF_ISA(isa, name) (static_cast<void>(isa), cpu::N_NEON::name)
#endif
