// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: the tiles of RowProduct.
//
// A tile is R rows x N vectors of accumulators. A step over depth takes R * N fused multiply-adds,
// R broadcasts of a and N loads of b. Two multiply-adds and two loads a cycle with a latency of 4
// ask for at least 8 accumulators and R + N <= R * N; accumulators, N vectors of b and a broadcast
// must fit the registers. 32 registers: 8 x 3 (28), 14 x 2 (31), 24 x 1 (26); 16 registers: 4 x 3
// (16), 6 x 2 (15), 12 x 1 (14).
#if defined(COMMENSAL_CPU_ROW_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_ROW_PRODUCT_INL
#undef COMMENSAL_CPU_ROW_PRODUCT_INL
#else
#define COMMENSAL_CPU_ROW_PRODUCT_INL
#endif

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/blocked/finish-inl.hpp>
#include <limits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kRowVectorsMax = kLanes >= 16 ? 3 : kLanes == 8 ? 2 : 4;
inline constexpr bool kManyRegisters = kLanes != 8;
/// The tallest tile of so many vectors.
inline constexpr std::array<int, 4> kRowsMax =
    kManyRegisters ? std::array{24, 14, 8, 6} : std::array{12, 6, 0, 0};

/// The addresses of rows at a step: five to a base, so that each is one addressing mode
/// (base + {0, 1, 2, 4} * step, base + 3 * step).
template <int R>
struct RowPointers {
  static constexpr int kBases = (R + 4) / 5;
  const float* base[kBases];
  std::int64_t step, step3;

  HWY_INLINE RowPointers(const float* a, std::int64_t a_step) : step(a_step), step3(3 * a_step) {
    for (int i = 0; i < kBases; ++i) base[i] = a + 5 * i * a_step;
#if HWY_ARCH_X86_64
    asm("" : "+r"(step3));  // else it is multiplied out again, row by row
#endif
  }
  template <int r>
  HWY_INLINE const float* row() const {
    constexpr int kIn = r % 5;
    return base[r / 5] + (kIn == 3 ? step3 : kIn * step);
  }
  HWY_INLINE void advance(std::int64_t by) {
    for (const float*& one : base) one += by;
  }
};

template <int R, int N>
struct RowTile {
  V acc[R][N];

  HWY_INLINE void clear() {
    COMMENSAL_UNROLL
    for (int r = 0; r < R; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = hn::Zero(kFloats);
    }
  }
  HWY_INLINE void load(const RowProduct& p, const float* c) {
    COMMENSAL_UNROLL
    for (int r = 0; r < R; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < N; ++v) {
        const float* const at = c + r * p.c_step + p.c_vectors[v];
        acc[r][v] = v + 1 < N || p.last == kLanes ? hn::LoadU(kFloats, at) : load_first(p.last, at);
      }
    }
  }
  HWY_INLINE void store(const RowProduct& p, float* c) const {
    COMMENSAL_UNROLL
    for (int r = 0; r < R; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < N; ++v) {
        float* const at = c + r * p.c_step + p.c_vectors[v];
        if (v + 1 < N || p.last == kLanes) {
          hn::StoreU(acc[r][v], kFloats, at);
        } else {
          store_first(p.last, acc[r][v], at);
        }
      }
    }
  }

  /// The step at `k` from where the pointers are.
  template <int... r>
  HWY_INLINE void step(const RowPointers<R>& a, int k, const float* b,
                       std::integer_sequence<int, r...>) {
    V right[N];
    COMMENSAL_UNROLL
    for (int v = 0; v < N; ++v) right[v] = hn::LoadU(kFloats, b + v * kLanes);
    const auto row = [&](V left, V* to) {
      COMMENSAL_UNROLL
      for (int v = 0; v < N; ++v) to[v] = hn::MulAdd(left, right[v], to[v]);
    };
    (row(hn::Set(kFloats, a.template row<r>()[k]), acc[r]), ...);
  }

  HWY_INLINE void finish(const RowProduct& p, const float* residual) {
    V bias[N];
    COMMENSAL_UNROLL
    for (int v = 0; v < N; ++v) bias[v] = bias_of(p.how, v * kLanes);
    COMMENSAL_UNROLL
    for (int r = 0; r < R; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = hn::Add(acc[r][v], bias[v]);
    }
    if (residual != nullptr) {
      COMMENSAL_UNROLL
      for (int r = 0; r < R; ++r) {
        COMMENSAL_UNROLL
        for (int v = 0; v < N; ++v) {
          const float* const at = residual + r * p.c_step + p.c_vectors[v];
          const V x =
              v + 1 < N || p.last == kLanes ? hn::LoadU(kFloats, at) : load_first(p.last, at);
          acc[r][v] = hn::Add(acc[r][v], x);
        }
      }
    }
    if (p.how.clamps) {
      const V low = hn::Set(kFloats, p.how.low), high = hn::Set(kFloats, p.how.high);
      each([&](V x) HWY_ATTR { return hn::Max(low, x); });
      if (p.how.high < std::numeric_limits<float>::infinity()) {
        each([&](V x) HWY_ATTR { return hn::Min(high, x); });
      }
    }
    // A NaN spoils the sum of all (as infinities may): only then is each looked at.
    V sum = acc[0][0];
    COMMENSAL_UNROLL
    for (int i = 1; i < R * N; ++i) sum = hn::Add(sum, acc[i / N][i % N]);
    if (HWY_LIKELY(hn::AllFalse(kFloats, hn::IsNaN(sum)))) return;
    each([](V x) HWY_ATTR { return canonical(x); });
  }

  template <class Change>
  HWY_INLINE void each(const Change& change) {
    COMMENSAL_UNROLL
    for (int r = 0; r < R; ++r) {
      COMMENSAL_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = change(acc[r][v]);
    }
  }
};

/// The lines of the next panel, a few at every fourth step: spread over as many tiles as there are,
/// so that they come no faster than memory gives them.
struct Ahead {
  static constexpr std::int64_t kLine = 16;  // floats
  const float* at;
  int lines = 0;  // at a time

  /// `all`: lines of four steps of a panel.
  Ahead(const RowProduct& p, int tile, int tiles, std::int64_t steps, int all) : at(p.next) {
    const int turns = std::min(tiles, all);
    if (p.next == nullptr || tile >= turns) return;
    lines = (all + turns - 1) / turns;
    at += tile * (steps / 4) * lines * kLine;
  }
  HWY_INLINE void fetch() {
    for (int i = 0; i < lines; ++i, at += kLine) __builtin_prefetch(at, 0, 2);
  }
};

/// Runs are far apart, so that the processor does not foresee where the next begins; its lines may
/// lie in the cache of another.
inline constexpr int kRunsAhead = 3;
template <int R>
HWY_INLINE void fetch_rows(const float* a, std::int64_t a_step) {
  COMMENSAL_UNROLL
  for (int r = 0; r < R; ++r) __builtin_prefetch(a + r * a_step);
}

template <int R, int N>
HWY_NOINLINE void row_tile(const RowProduct& p, std::int64_t row, Ahead ahead) {
  float* const c = p.c + row * p.c_step;
  RowTile<R, N> tile;
  if (p.resume) {
    tile.load(p, c);
  } else {
    tile.clear();
  }
  const float* b = p.b;
  const float* const a = p.a + row * p.a_step;
  for (int i = 0; i < p.run_count; ++i) {
    if (i + kRunsAhead < p.run_count) fetch_rows<R>(a + p.runs[i + kRunsAhead].offset, p.a_step);
    RowPointers<R> left(a + p.runs[i].offset, p.a_step);
    std::int64_t k = p.runs[i].count;
    for (; k >= 4; k -= 4, left.advance(4), b += 4 * N * kLanes) {
      COMMENSAL_UNROLL
      for (int u = 0; u < 4; ++u) {
        tile.step(left, u, b + u * N * kLanes, std::make_integer_sequence<int, R>());
      }
      ahead.fetch();
    }
    for (; k > 0; --k, left.advance(1), b += N * kLanes) {
      tile.step(left, 0, b, std::make_integer_sequence<int, R>());
    }
  }
  if (p.finish) {
    tile.finish(p, p.how.residual == nullptr ? nullptr : p.how.residual + row * p.c_step);
  }
  tile.store(p, c);
}

using RowTileFn = void (*)(const RowProduct&, std::int64_t row, Ahead);

template <int N, int... rows_less_1>
constexpr auto row_tiles_of(std::integer_sequence<int, rows_less_1...>) {
  return std::array<RowTileFn, sizeof...(rows_less_1)>{row_tile<rows_less_1 + 1, N>...};
}
template <int N>
inline constexpr auto kRowTiles =
    row_tiles_of<N>(std::make_integer_sequence<int, kRowsMax[N - 1]>());

/// All rows in tiles of nearly the same height: 49 rows are 7 times 7 rather than 6 times 8 and 1.
template <int N>
inline void row_tiles(const RowProduct& p) {
  const int tiles = (p.rows + kRowsMax[N - 1] - 1) / kRowsMax[N - 1];
  const int rows = p.rows / tiles, taller = p.rows % tiles;
  std::int64_t row = 0, steps = 0;
  for (int i = 0; i < p.run_count; ++i) steps += p.runs[i].count;
  for (int i = 0; i < tiles; ++i) {
    const int height = rows + (i < taller ? 1 : 0);
    kRowTiles<N>[static_cast<std::size_t>(height - 1)](
        p, row, Ahead(p, i, tiles, steps, N * kLanes * 4 / 16));
    row += height;
  }
}

inline void row_product(const RowProduct& p) {
  if constexpr (kRowVectorsMax >= 4) {
    if (p.vectors == 4) return row_tiles<4>(p);
  }
  if constexpr (kRowVectorsMax >= 3) {
    if (p.vectors == 3) return row_tiles<3>(p);
  }
  if (p.vectors == 2) return row_tiles<2>(p);
  row_tiles<1>(p);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
