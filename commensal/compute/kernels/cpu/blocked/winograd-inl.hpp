// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the transforms of the Winograd clause, a vector of channels at
// a time, and the interleaving of planes.
#if defined(COMMENSAL_CPU_BLOCKED_WINOGRAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_BLOCKED_WINOGRAD_INL
#undef COMMENSAL_CPU_BLOCKED_WINOGRAD_INL
#else
#define COMMENSAL_CPU_BLOCKED_WINOGRAD_INL
#endif

#include <commensal/compute/kernels/cpu/blocked/finish-inl.hpp>
#include <commensal/compute/kernels/cpu/blocked/lanes.hpp>
#include <commensal/compute/kernels/cpu/math-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

// One dimension at a time, so that what is in flight fits the registers.
template <int M>
void blocked_tile_in(const BlockedTileIn& t) {
  constexpr int T = M + 2;
  for (int first = 0; first < 16; first += kLanes) {
    V half[T * T];
    COMMENSAL_UNROLL
    for (int x = 0; x < T; ++x) {
      V column[T];
      COMMENSAL_UNROLL
      for (int y = 0; y < T; ++y) {
        column[y] = hn::LoadU(kFloats, t.patch + y * t.row_step + x * 16 + first);
      }
      function::winograd_input_1d<HighwayLanes, M>(column, 1, half + x, T);
    }
    COMMENSAL_UNROLL
    for (int y = 0; y < T; ++y) {
      V row[T];
      function::winograd_input_1d<HighwayLanes, M>(half + y * T, 1, row, 1);
      COMMENSAL_UNROLL
      for (int x = 0; x < T; ++x) {
        hn::StoreU(row[x], kFloats, t.out + (y * T + x) * t.point_step + first);
      }
    }
  }
}

template <int M>
void blocked_tile_out(const BlockedTileOut& t) {
  constexpr int T = M + 2;
  for (int first = 0; first < 16; first += kLanes) {
    const Finish finish(t.how, first);
    V half[M * T];
    COMMENSAL_UNROLL
    for (int x = 0; x < T; ++x) {
      V column[T];
      COMMENSAL_UNROLL
      for (int y = 0; y < T; ++y) {
        column[y] = hn::LoadU(kFloats, t.sums + (y * T + x) * t.point_step + first);
      }
      function::winograd_output_1d<HighwayLanes, M>(column, 1, half + x, T);
    }
    COMMENSAL_UNROLL
    for (int y = 0; y < M; ++y) {
      if (y >= t.height) break;
      V row[M];
      function::winograd_output_1d<HighwayLanes, M>(half + y * T, 1, row, 1);
      COMMENSAL_UNROLL
      for (int x = 0; x < M; ++x) {
        if (x >= t.width) break;
        const std::int64_t at = y * t.row_step + x * 16 + first;
        const float* const residual = t.how.residual == nullptr ? nullptr : t.how.residual + at;
        hn::StoreU(finish(row[x], residual), kFloats, t.out + at);
      }
    }
  }
}

inline void interleave(const float* from, std::int64_t plane, std::int64_t channels,
                       std::int64_t count, float* to) {
  std::int64_t i = 0;
  if (channels == 3) {
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreInterleaved3(hn::LoadU(kFloats, from + i), hn::LoadU(kFloats, from + plane + i),
                            hn::LoadU(kFloats, from + 2 * plane + i), kFloats, to + 3 * i);
    }
  }
  for (; i < count; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) to[i * channels + c] = from[c * plane + i];
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
