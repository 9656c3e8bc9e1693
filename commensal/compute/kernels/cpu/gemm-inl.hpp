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
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kTileVectors = 3;

/// The accumulators of kRows x kVectors, in memory order.
template <class T, int kRows, int kVectors>
struct Tile {
  static constexpr LanesOf<T> d = {};
  static constexpr int kWidth = kLanesOf<T>;
  VectorOf<T> acc[kRows][kVectors];

  HWY_INLINE void clear() {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
    }
  }
  HWY_INLINE void load(const T* c, std::int64_t step, int last) {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v + 1 < kVectors; ++v) {
        acc[r][v] = hn::LoadU(d, c + r * step + v * kWidth);
      }
      acc[r][kVectors - 1] = load_first(last, c + r * step + (kVectors - 1) * kWidth);
    }
  }
  HWY_INLINE void store(T* c, std::int64_t step, int last) const {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v + 1 < kVectors; ++v) {
        hn::StoreU(acc[r][v], d, c + r * step + v * kWidth);
      }
      store_first(last, acc[r][kVectors - 1], c + r * step + (kVectors - 1) * kWidth);
    }
  }
};

template <class T, int kRows, int kVectors>
HWY_INLINE void finish_tile(const GemmPanelOf<T>& g, std::int64_t row, int last,
                            Tile<T, kRows, kVectors>& tile) {
  constexpr LanesOf<T> d = {};
  constexpr int kWidth = kLanesOf<T>;
  const bool scaled = g.alpha != 1;
  const auto alpha = hn::Set(d, g.alpha);
  COMMENSAL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const T* bias = g.bias == nullptr ? nullptr : g.bias + (row + r) * g.bias_row_step;
    const auto same = bias == nullptr || g.bias_column_step != 0 ? hn::Zero(d) : hn::Set(d, *bias);
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      auto x = tile.acc[r][v];
      if (scaled) x = hn::Mul(alpha, x);
      auto b = same;
      if (bias != nullptr && g.bias_column_step != 0) {
        b = v + 1 < kVectors ? hn::LoadU(d, bias + v * kWidth)
                             : load_first(last, bias + v * kWidth);
      }
      tile.acc[r][v] = canonical(hn::Add(x, hn::Add(b, hn::Zero(d))));  // -0 counts as +0
    }
  }
}

/// Rows [row, row + kRows); kPanels panels of a, of which each has kRows / kPanels rows.
template <class T, int kRows, int kVectors, int kPanels = 1>
HWY_NOINLINE void gemm_tile(const GemmPanelOf<T>& g, std::int64_t row) {
  constexpr LanesOf<T> d = {};
  constexpr int kWidth = kLanesOf<T>, kPanelRows = kRows / kPanels;
  const int last = g.columns - (kVectors - 1) * kWidth;
  T* const c = g.c + row * g.c_step;
  Tile<T, kRows, kVectors> tile;
  if (g.resume) {
    tile.load(c, g.c_step, last);
  } else {
    tile.clear();
  }
  const T* a = g.a + row / kTileRows * g.a_panel_step;
  const T* b = g.b;
  for (std::int64_t k = 0; k < g.depth; ++k, a += g.a_step, b += g.b_step) {
    VectorOf<T> right[kVectors];
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kWidth);
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto left = hn::Set(d, a[r / kPanelRows * g.a_panel_step + r % kPanelRows]);
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        tile.acc[r][v] = hn::MulAdd(left, right[v], tile.acc[r][v]);
      }
    }
  }
  if (g.finish) finish_tile(g, row, last, tile);
  tile.store(c, g.c_step, last);
}

template <class T>
using TileFn = void (*)(const GemmPanelOf<T>&, std::int64_t row);

template <class T, int kVectors, int... kRowsLess1>
constexpr std::array<TileFn<T>, kTileRows> tiles_of(std::integer_sequence<int, kRowsLess1...>) {
  return {gemm_tile<T, kRowsLess1 + 1, kVectors>...};
}
inline constexpr auto kRowCounts = std::make_integer_sequence<int, kTileRows>();
template <class T>
inline constexpr std::array<std::array<TileFn<T>, kTileRows>, kTileVectors> kTiles = {
    tiles_of<T, 1>(kRowCounts), tiles_of<T, 2>(kRowCounts), tiles_of<T, 3>(kRowCounts)};

template <class T>
void gemm(const GemmPanelOf<T>& g) {
  const int vectors = (g.columns + kLanesOf<T> - 1) / kLanesOf<T>;
  const auto& tiles = kTiles<T>[static_cast<std::size_t>(vectors - 1)];
  std::int64_t row = 0;
  if constexpr (std::is_same_v<T, float>) {
    if (g.columns <= kNarrowColumnsMax) row = gemm_narrow(g);
  }
  if (vectors == 1) {
    for (; row + 2 * kTileRows <= g.rows; row += 2 * kTileRows) {
      gemm_tile<T, 2 * kTileRows, 1, 2>(g, row);
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
