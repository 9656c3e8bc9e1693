// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the tiles of GemmPanel.
//
// A tile is `rows` x 3 vectors of accumulators. A step over depth costs rows * 3 fused
// multiply-adds, 3 loads of b and `rows` broadcasts of a. Two multiply-adds and two loads a cycle
// with a latency of 4 ask for at least 8 accumulators and for no more loads than multiply-adds;
// three vectors of b and one broadcast must fit beside the accumulators. 32 registers: 8 rows
// (24 + 3 + 1). 16 registers: 4 rows (12 + 3 + 1). A tail of a single vector takes two panels of
// rows at once, to keep enough accumulators in flight.
#if defined(COMMENSAL_CPU_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_GEMM_INL
#undef COMMENSAL_CPU_GEMM_INL
#else
#define COMMENSAL_CPU_GEMM_INL
#endif

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/gemm_narrow-inl.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kTileVectors = 3;

/// The accumulators of kRows x kVectors, in memory order.
template <int kRows, int kVectors>
struct Tile {
  V acc[kRows][kVectors];

  HWY_INLINE void clear() {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(kFloats);
    }
  }
  HWY_INLINE void load(const float* c, std::int64_t step, int last) {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v + 1 < kVectors; ++v) {
        acc[r][v] = hn::LoadU(kFloats, c + r * step + v * kLanes);
      }
      acc[r][kVectors - 1] = load_first(last, c + r * step + (kVectors - 1) * kLanes);
    }
  }
  HWY_INLINE void store(float* c, std::int64_t step, int last) const {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v + 1 < kVectors; ++v) {
        hn::StoreU(acc[r][v], kFloats, c + r * step + v * kLanes);
      }
      store_first(last, acc[r][kVectors - 1], c + r * step + (kVectors - 1) * kLanes);
    }
  }
};

template <int kRows, int kVectors>
HWY_INLINE void finish_tile(const GemmPanel& g, std::int64_t row, int last,
                            Tile<kRows, kVectors>& tile) {
  const bool scaled = g.alpha != 1.0f;
  const V alpha = hn::Set(kFloats, g.alpha);
  COMMENSAL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const float* bias = g.bias == nullptr ? nullptr : g.bias + (row + r) * g.bias_row_step;
    const V same =
        bias == nullptr || g.bias_column_step != 0 ? hn::Zero(kFloats) : hn::Set(kFloats, *bias);
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V x = tile.acc[r][v];
      if (scaled) x = hn::Mul(alpha, x);
      V b = same;
      if (bias != nullptr && g.bias_column_step != 0) {
        b = v + 1 < kVectors ? hn::LoadU(kFloats, bias + v * kLanes)
                             : load_first(last, bias + v * kLanes);
      }
      tile.acc[r][v] = canonical(hn::Add(x, hn::Add(b, hn::Zero(kFloats))));  // -0 counts as +0
    }
  }
}

/// Rows [row, row + kRows); kPanels panels of a, of which each has kRows / kPanels rows.
template <int kRows, int kVectors, int kPanels = 1>
HWY_NOINLINE void gemm_tile(const GemmPanel& g, std::int64_t row) {
  constexpr int kPanelRows = kRows / kPanels;
  const int last = g.columns - (kVectors - 1) * kLanes;
  float* const c = g.c + row * g.c_step;
  Tile<kRows, kVectors> tile;
  if (g.resume) {
    tile.load(c, g.c_step, last);
  } else {
    tile.clear();
  }
  const float* a = g.a + row / kTileRows * g.a_panel_step;
  const float* b = g.b;
  for (std::int64_t k = 0; k < g.depth; ++k, a += g.a_step, b += g.b_step) {
    V right[kVectors];
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(kFloats, b + v * kLanes);
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const V left = hn::Set(kFloats, a[r / kPanelRows * g.a_panel_step + r % kPanelRows]);
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        tile.acc[r][v] = hn::MulAdd(left, right[v], tile.acc[r][v]);
      }
    }
  }
  if (g.finish) finish_tile(g, row, last, tile);
  tile.store(c, g.c_step, last);
}

using TileFn = void (*)(const GemmPanel&, std::int64_t row);

template <int kVectors, int... kRowsLess1>
constexpr std::array<TileFn, kTileRows> tiles_of(std::integer_sequence<int, kRowsLess1...>) {
  return {gemm_tile<kRowsLess1 + 1, kVectors>...};
}
inline constexpr auto kRowCounts = std::make_integer_sequence<int, kTileRows>();
inline constexpr std::array<std::array<TileFn, kTileRows>, kTileVectors> kTiles = {
    tiles_of<1>(kRowCounts), tiles_of<2>(kRowCounts), tiles_of<3>(kRowCounts)};

inline void gemm(const GemmPanel& g) {
  const int vectors = (g.columns + kLanes - 1) / kLanes;
  const auto& tiles = kTiles[static_cast<std::size_t>(vectors - 1)];
  std::int64_t row = g.columns <= kNarrowColumnsMax ? gemm_narrow(g) : 0;
  if (vectors == 1) {
    for (; row + 2 * kTileRows <= g.rows; row += 2 * kTileRows) {
      gemm_tile<2 * kTileRows, 1, 2>(g, row);
    }
  }
  for (; row < g.rows; row += kTileRows) {
    const auto rows = std::min<std::int64_t>(kTileRows, g.rows - row);
    tiles[static_cast<std::size_t>(rows - 1)](g, row);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
