// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set: TapPlane, for depthwise convolutions and pools.
#if defined(COMMENSAL_CPU_TAP_PLANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef COMMENSAL_CPU_TAP_PLANES_INL
#undef COMMENSAL_CPU_TAP_PLANES_INL
#else
#define COMMENSAL_CPU_TAP_PLANES_INL
#endif

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/extremes-inl.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

/// Fused multiply-adds, then the bias.
struct Chain {
  static HWY_INLINE V start() { return hn::Zero(kFloats); }
  static HWY_INLINE V step(const TapPlane& p, int tap, V x, V acc) {
    return hn::MulAdd(hn::Set(kFloats, p.weights[tap]), x, acc);
  }
  static HWY_INLINE V finish(const TapPlane& p, V acc) {
    return hn::Add(acc, hn::Set(kFloats, p.bias + 0.0f));  // -0 counts as +0
  }
};

using Most = Order<float, true>;
using Keys = Most::Integers;
using KeyV = Most::I;
inline constexpr Keys kKeys;
/// What is below all numbers becomes -infinity.
HWY_INLINE V number_of(KeyV key) { return Most::value(hn::Max(key, Most::start())); }

inline void keys_of_row(float* x, std::int64_t count) {
  for (; count > 0; count -= kLanes, x += kLanes) {
    const auto here = static_cast<int>(std::min<std::int64_t>(count, kLanes));
    if (here == kLanes) {
      hn::StoreU(hn::BitCast(kFloats, Most::key(hn::LoadU(kFloats, x))), kFloats, x);
    } else {
      store_first(here, hn::BitCast(kFloats, Most::key(load_first(here, x))), x);
    }
  }
}

inline float largest_of_row(const float* x, std::int64_t count) {
  constexpr int kAtOnce = 4;
  const bool is_long = count >= kLanes;
  KeyV best[kAtOnce];
  for (KeyV& one : best) one = Most::start();
  for (; count >= kAtOnce * kLanes; count -= kAtOnce * kLanes, x += kAtOnce * kLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kAtOnce; ++v) {
      best[v] = hn::Max(best[v], Most::key(hn::LoadU(kFloats, x + v * kLanes)));
    }
  }
  const float* const last = x + count - kLanes;  // what is there twice changes no maximum
  for (; count > kLanes; count -= kLanes, x += kLanes) {
    best[0] = hn::Max(best[0], Most::key(hn::LoadU(kFloats, x)));
  }
  if (count > 0 && is_long) best[1] = hn::Max(best[1], Most::key(hn::LoadU(kFloats, last)));
  if (count > 0 && !is_long) {
    const auto here = static_cast<int>(count);
    best[0] =
        Most::key(hn::IfThenElse(first(here), load_first(here, x), hn::Neg(hn::Inf(kFloats))));
  }
  const KeyV all = hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3]));
  return hn::GetLane(number_of(hn::MaxOfLanes(kKeys, all)));
}

/// Where the vector at column i begins: the last one ends with the row, so that some outputs of
/// wide rows are made twice rather than one behind a mask.
HWY_INLINE std::int64_t column_of(const TapPlane& p, std::int64_t i) {
  return std::max<std::int64_t>(std::min<std::int64_t>(i, p.width - kLanes), 0);
}

HWY_INLINE void store_output(const TapPlane& p, std::int64_t y, std::int64_t x, V result) {
  float* const out = p.out + y * p.width + x;
  if (p.width - x >= kLanes) {
    hn::StoreU(result, kFloats, out);
  } else {
    store_first(static_cast<int>(p.width - x), result, out);
  }
}

/// kRows rows at once: a chain alone would wait for each step to end.
template <int kRows>
HWY_INLINE void tap_rows(const TapPlane& p, std::int64_t y) {
  for (std::int64_t i = 0; i < p.width; i += kLanes) {
    const std::int64_t x = column_of(p, i);
    const float* const in = p.in + y * p.in_step + x;
    V acc[kRows];
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r] = Chain::start();
    for (int t = 0; t < p.taps; ++t) {
      const float* const tap = in + p.offsets[t];
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        acc[r] = Chain::step(p, t, hn::LoadU(kFloats, tap + r * p.in_step), acc[r]);
      }
    }
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) store_output(p, y + r, x, canonical(Chain::finish(p, acc[r])));
  }
}

/// Whether the taps are kSide rows of kSide, each where the next row of outputs has its first.
template <int kSide>
bool overlaps(const TapPlane& p) {
  if (p.taps != kSide * kSide) return false;
  for (int t = 0; t + kSide < p.taps; ++t) {
    if (p.offsets[t + kSide] - p.offsets[t] != p.in_step) return false;
  }
  return true;
}

/// Each row of inputs is loaded once for all rows of outputs that meet it, of which the taps come
/// in their order nevertheless.
template <int kSide, int kRows>
HWY_INLINE void overlapping_rows(const TapPlane& p, std::int64_t y) {
  for (std::int64_t i = 0; i < p.width; i += kLanes) {
    const std::int64_t x = column_of(p, i);
    const float* const in = p.in + y * p.in_step + x;
    V acc[kRows];
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r] = Chain::start();
    COMMENSAL_UNROLL
    for (int row = 0; row < kRows + kSide - 1; ++row) {
      V taps[kSide];
      COMMENSAL_UNROLL
      for (int k = 0; k < kSide; ++k) {
        taps[k] = hn::LoadU(kFloats, in + row * p.in_step + p.offsets[k]);
      }
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const int down = row - r;
        if (down < 0 || down >= kSide) continue;
        COMMENSAL_UNROLL
        for (int k = 0; k < kSide; ++k) acc[r] = Chain::step(p, down * kSide + k, taps[k], acc[r]);
      }
    }
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) store_output(p, y + r, x, canonical(Chain::finish(p, acc[r])));
  }
}

template <int kSide>
void overlapping_plane(const TapPlane& p) {
  constexpr int kRows = 4;
  std::int64_t y = 0;
  for (; y + kRows <= p.height; y += kRows) overlapping_rows<kSide, kRows>(p, y);
  for (; y < p.height; ++y) overlapping_rows<kSide, 1>(p, y);
}

inline void tap_plane(const TapPlane& p) {
  if (overlaps<3>(p)) return overlapping_plane<3>(p);
  if (overlaps<5>(p)) return overlapping_plane<5>(p);
  constexpr int kRows = 6;
  std::int64_t y = 0;
  for (; y + kRows <= p.height; y += kRows) tap_rows<kRows>(p, y);
  for (; y + 2 <= p.height; y += 2) tap_rows<2>(p, y);
  for (; y < p.height; ++y) tap_rows<1>(p, y);
}

HWY_INLINE KeyV all_of(std::uint32_t x) { return hn::Set(kKeys, static_cast<std::int32_t>(x)); }

inline void placed_maximum(const PlacedTaps& t) {
  const TapPlane& p = t.plane;
  const KeyV columns = hn::Mul(hn::Iota(kKeys, 0), all_of(t.column_step));
  HWY_ALIGN std::int32_t places[kLanes];
  for (std::int64_t y = 0; y < p.height; ++y) {
    for (std::int64_t x = 0; x < p.width; x += kLanes) {
      const float* const in = p.in + y * p.in_step + x;
      const auto row = static_cast<std::uint32_t>(y) * t.row_step + t.row_start;
      const KeyV from =
          hn::Add(columns, all_of(row + static_cast<std::uint32_t>(x) * t.column_step));
      KeyV best = hn::Set(kKeys, Most::Limits::min()), place = hn::Set(kKeys, -1);
      for (int tap = 0; tap < p.taps; ++tap) {
        const KeyV key = hn::BitCast(kKeys, hn::LoadU(kFloats, in + p.offsets[tap]));
        const auto better = hn::Gt(key, best);
        best = hn::IfThenElse(better, key, best);
        place = hn::IfThenElse(better, hn::Add(from, all_of(t.positions[tap])), place);
      }
      store_output(p, y, x, number_of(best));
      hn::Store(place, kKeys, places);
      const std::int64_t count = std::min<std::int64_t>(kLanes, p.width - x);
      std::int64_t* const to = t.places + y * p.width + x;
      for (std::int64_t i = 0; i < count; ++i) to[i] = places[i] < 0 ? -1 : t.base + places[i];
    }
  }
}

/// As ref/neighbours.hpp has it.
struct Between {
  KeyV first;
  V weight[2];
};
HWY_INLINE Between between_of(V place) {
  const V far = hn::Set(kFloats, 1 << 30);
  const V kept =
      hn::IfThenElse(hn::IsNaN(place), hn::Neg(far), hn::Clamp(place, hn::Neg(far), far));
  const V floor = hn::Floor(kept), t = hn::Sub(kept, floor);
  return {hn::ConvertTo(kKeys, floor), {hn::Sub(hn::Set(kFloats, 1), t), t}};
}
HWY_INLINE hn::Mask<Floats> is_among(KeyV at, std::int32_t count) {
  const auto below = hn::Gt(hn::Set(kKeys, count), at);
  return hn::RebindMask(kFloats, hn::And(below, hn::Gt(at, hn::Set(kKeys, -1))));
}

inline void neighbours(const NeighboursOf& p) {
  const V row = hn::Set(kFloats, p.row), column = hn::Set(kFloats, p.column);
  for (std::int64_t i = 0; i < p.count; i += kLanes) {
    const auto here = static_cast<int>(std::min<std::int64_t>(p.count - i, kLanes));
    const V y = hn::Add(load_first(here, p.rows + i), row);
    const V x = hn::Add(load_first(here, p.columns + i), column);
    const Between down = between_of(hn::Add(y, load_first(here, p.down + i)));
    const Between right = between_of(hn::Add(x, load_first(here, p.right + i)));
    COMMENSAL_UNROLL
    for (int k = 0; k < Interpolation::kNeighbours; ++k) {
      const KeyV at_y = hn::Add(down.first, hn::Set(kKeys, k / 2));
      const KeyV at_x = hn::Add(right.first, hn::Set(kKeys, k % 2));
      const V weight = hn::Mul(down.weight[k / 2], right.weight[k % 2]);
      const auto inside = hn::And(hn::And(is_among(at_y, p.height), is_among(at_x, p.width)),
                                  hn::Ne(weight, hn::Zero(kFloats)));
      const KeyV at = hn::Add(hn::Mul(at_y, hn::Set(kKeys, p.width)), at_x);
      const KeyV kept = hn::IfThenElse(hn::RebindMask(kKeys, inside), at, hn::Set(kKeys, -1));
      store_first(here, hn::BitCast(kFloats, kept), p.at[k] + i);
      store_first(here, hn::IfThenElseZero(inside, weight), p.weights[k] + i);
    }
  }
}

inline void interpolate(const Interpolation& p) {
  for (std::int64_t i = 0; i < p.count; i += kLanes) {
    const auto here = static_cast<int>(std::min<std::int64_t>(p.count - i, kLanes));
    V acc = hn::Zero(kFloats);
    COMMENSAL_UNROLL
    for (int k = 0; k < Interpolation::kNeighbours; ++k) {
      const KeyV places = hn::BitCast(kKeys, load_first(here, p.at[k] + i));
      const auto inside = hn::RebindMask(kFloats, hn::Gt(places, hn::Set(kKeys, -1)));
      const V x = hn::GatherIndex(kFloats, p.plane, hn::Max(places, hn::Zero(kKeys)));
      const V weight = load_first(here, p.weights[k] + i);
      acc = hn::MulAdd(weight, hn::IfThenElseZero(inside, x), acc);
    }
    if (p.scale != nullptr) acc = hn::Mul(acc, load_first(here, p.scale + i));
    store_first(here, acc, p.to + i);
  }
}

/// The tree over the lanes kLane, kLane + kStep, ... of kUsed; lane l holds taps l, l + 32, ...
/// Adding a lane that is absent would change nothing. kRows rows at once.
template <int kRows, int kUsed, int kLane, int kStep>
HWY_INLINE void tap_tree(const TapPlane& p, const float* in, V (&sum)[kRows]) {
  if constexpr (kStep == kSumLanes) {
    const auto tap = [&](int t, int r)
                         HWY_ATTR { return hn::LoadU(kFloats, in + p.offsets[t] + r * p.in_step); };
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) sum[r] = tap(kLane, r);
    if constexpr (kUsed == kSumLanes) {
      for (int t = kLane + kSumLanes; t < p.taps; t += kSumLanes) {
        COMMENSAL_UNROLL
        for (int r = 0; r < kRows; ++r) sum[r] = hn::Add(sum[r], tap(t, r));
      }
    }
  } else {
    tap_tree<kRows, kUsed, kLane, 2 * kStep>(p, in, sum);
    if constexpr (kLane + kStep < kUsed) {
      V other[kRows];
      tap_tree<kRows, kUsed, kLane + kStep, 2 * kStep>(p, in, other);
      COMMENSAL_UNROLL
      for (int r = 0; r < kRows; ++r) sum[r] = hn::Add(sum[r], other[r]);
    }
  }
}

template <int kRows, int kUsed>
HWY_INLINE void average_rows(const TapPlane& p, std::int64_t y) {
  for (std::int64_t i = 0; i < p.width; i += kLanes) {
    const std::int64_t x = column_of(p, i);
    V sum[kRows];
    tap_tree<kRows, kUsed, 0, 1>(p, p.in + y * p.in_step + x, sum);
    COMMENSAL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      V mean = hn::Add(sum[r], hn::Zero(kFloats));
      if (p.divisors != nullptr) {
        const auto count = static_cast<int>(std::min<std::int64_t>(p.width - x, kLanes));
        mean = hn::Div(mean, load_first(count, p.divisors + (y + r) * p.width + x));
      }
      store_output(p, y + r, x, canonical(mean));
    }
  }
}
template <int kUsed>
void average_of(const TapPlane& p) {
  constexpr int kRows = 2;
  std::int64_t y = 0;
  for (; y + kRows <= p.height; y += kRows) average_rows<kRows, kUsed>(p, y);
  for (; y < p.height; ++y) average_rows<1, kUsed>(p, y);
}

inline void average_plane(const TapPlane& p) {
  static constexpr auto kByTaps = []<std::size_t... kI>(std::index_sequence<kI...>) {
    return std::array{average_of<static_cast<int>(kI) + 1>...};
  }
  (std::make_index_sequence<kSumLanes>());
  kByTaps[static_cast<std::size_t>(std::min(p.taps, kSumLanes) - 1)](p);
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
