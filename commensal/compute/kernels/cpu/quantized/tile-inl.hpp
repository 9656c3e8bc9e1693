// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the tiles of CodePanel. They have the shape of those of floats
// (gemm-inl.hpp), whose reasons hold: a VNNI step has the latency and the two units of a fused
// multiply-add, and the loads are the same. With 16 registers a vector of the right matrix, in its
// two parts, stays for all rows: 12 sums, 2 parts, 2 more.
#if defined(COMMENSAL_CPU_CODES_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_CODES_TILE_INL
#undef COMMENSAL_CPU_CODES_TILE_INL
#else
#define COMMENSAL_CPU_CODES_TILE_INL
#endif

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/quantized/dot-inl.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

template <int kRows, int kVectors>
struct CodeTile {
  Ints acc[kRows][kVectors];

  HWY_INLINE void begin(const CodePanel& g, const std::int32_t* c) {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[r][v] =
            g.resume ? hn::LoadU(kInts, c + r * kCodeColumns + v * kLanes) : hn::Zero(kInts);
      }
    }
  }
  /// One word of depth.
  HWY_INLINE void step(const float* a, std::int64_t a_step, const float* b) {
    if constexpr (kLeftParts == 1) {
      RightWords right[kVectors];
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) right[v] = right_words(b + v * kLanes);
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const LeftWord left = left_word(a + r, a_step);
        COMMENSAL_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[r][v] = dot(acc[r][v], left, right[v]);
      }
    } else {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const RightWords right = right_words(b + v * kLanes);
        COMMENSAL_UNROLL
        for (int r = 0; r < kRows; ++r) {
          acc[r][v] = dot(acc[r][v], left_word(a + r, a_step), right);
        }
      }
    }
  }
  HWY_INLINE void store(std::int32_t* c) const {
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(acc[r][v], kInts, c + r * kCodeColumns + v * kLanes);
      }
    }
  }
};

template <int kRows, int kVectors>
HWY_NOINLINE void code_tile(const CodePanel& g, std::int64_t row) {
  std::int32_t* const c = g.c + row * kCodeColumns;
  CodeTile<kRows, kVectors> tile;
  tile.begin(g, c);
  const float* a = g.a + row / kTileRows * g.a_panel_step;
  const float* b = g.b;
  for (std::int64_t k = 0; k < g.depth; ++k, a += kLeftParts * g.a_step, b += g.b_step) {
    tile.step(a, g.a_step, b);
  }
  tile.store(c);
}

using CodeTileFn = void (*)(const CodePanel&, std::int64_t row);

template <int kVectors, int... kRowsLess1>
constexpr std::array<CodeTileFn, kTileRows> code_tiles_of(
    std::integer_sequence<int, kRowsLess1...>) {
  return {code_tile<kRowsLess1 + 1, kVectors>...};
}
inline constexpr auto kCodeRowCounts = std::make_integer_sequence<int, kTileRows>();
inline constexpr std::array<std::array<CodeTileFn, kTileRows>, kCodeVectors> kCodeTiles = {
    code_tiles_of<1>(kCodeRowCounts), code_tiles_of<2>(kCodeRowCounts),
    code_tiles_of<3>(kCodeRowCounts)};

inline void code_product(const CodePanel& g) {
  const int vectors = (g.columns + kLanes - 1) / kLanes;
  const auto& tiles = kCodeTiles[static_cast<std::size_t>(vectors - 1)];
  for (std::int64_t row = 0; row < g.rows; row += kTileRows) {
    const auto rows = std::min<std::int64_t>(kTileRows, g.rows - row);
    tiles[static_cast<std::size_t>(rows - 1)](g, row);
  }
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
