// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: GemmPanel with very few columns (what is left of 49 pixels
// after a tile of 48). A vector of columns would be nearly empty, so the panels' rows, which lie
// side by side, are the vectors instead.
#if defined(COMMENSAL_CPU_GEMM_NARROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_GEMM_NARROW_INL
#undef COMMENSAL_CPU_GEMM_NARROW_INL
#else
#define COMMENSAL_CPU_GEMM_NARROW_INL
#endif

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kNarrowColumnsMax = 4;
using PanelRows = hn::CappedTag<float, static_cast<std::size_t>(kTileRows)>;

HWY_INLINE float finish_one(const GemmPanel& g, std::int64_t row, int column, float x) {
  const float bias =
      g.bias == nullptr ? 0.0f : g.bias[row * g.bias_row_step + column * g.bias_column_step];
  if (g.alpha != 1.0f) x = g.alpha * x;
  x = x + (bias + 0.0f);  // -0 counts as +0
  return x != x ? std::numeric_limits<float>::quiet_NaN() : x;
}

/// kPanels whole panels of rows from `row` on.
template <int kPanels, int kColumns>
HWY_NOINLINE void narrow_tile(const GemmPanel& g, std::int64_t row) {
  constexpr PanelRows kRows;
  hn::Vec<PanelRows> acc[kPanels][kColumns];
  alignas(64) float lanes[kTileRows];
  for (int p = 0; p < kPanels; ++p) {
    for (int j = 0; j < kColumns; ++j) {
      for (int r = 0; r < kTileRows; ++r) {
        lanes[r] = g.resume ? g.c[(row + p * kTileRows + r) * g.c_step + j] : 0.0f;
      }
      acc[p][j] = hn::Load(kRows, lanes);
    }
  }
  const float* a = g.a + row / kTileRows * g.a_panel_step;
  const float* b = g.b;
  for (std::int64_t k = 0; k < g.depth; ++k, a += g.a_step, b += g.b_step) {
    COMMENSAL_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      const auto left = hn::LoadU(kRows, a + p * g.a_panel_step);
      COMMENSAL_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        acc[p][j] = hn::MulAdd(left, hn::Set(kRows, b[j]), acc[p][j]);
      }
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    for (int j = 0; j < kColumns; ++j) {
      hn::Store(acc[p][j], kRows, lanes);
      for (int r = 0; r < kTileRows; ++r) {
        const std::int64_t to = row + p * kTileRows + r;
        g.c[to * g.c_step + j] = g.finish ? finish_one(g, to, j, lanes[r]) : lanes[r];
      }
    }
  }
}

template <int kColumns>
std::int64_t narrow_rows(const GemmPanel& g) {
  constexpr int kPanels = (8 + kColumns - 1) / kColumns;  // at least 8 accumulators
  std::int64_t row = 0;
  for (; row + kPanels * kTileRows <= g.rows; row += kPanels * kTileRows) {
    narrow_tile<kPanels, kColumns>(g, row);
  }
  for (; row + kTileRows <= g.rows; row += kTileRows) narrow_tile<1, kColumns>(g, row);
  return row;
}

/// Returns how many rows are done: all whole panels.
inline std::int64_t gemm_narrow(const GemmPanel& g) {
  switch (g.columns) {
    case 1:
      return narrow_rows<1>(g);
    case 2:
      return narrow_rows<2>(g);
    case 3:
      return narrow_rows<3>(g);
    default:
      return narrow_rows<4>(g);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
