// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/folds.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>
#include <commensal/compute/kernels/cpu/extremes-inl.hpp>
#include <commensal/compute/kernels/cpu/folds.hpp>
#include <commensal/compute/kernels/cpu/sum-inl.hpp>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kAbreast = 4;  // vectors of columns at a time

struct Itself {
  static HWY_INLINE V of(V x, V) { return x; }
};
struct Magnitude {
  static HWY_INLINE V of(V x, V) { return hn::Abs(x); }
};
struct Square {
  static HWY_INLINE V of(V x, V) { return hn::Mul(x, x); }
};
struct Deviation {
  static HWY_INLINE V of(V x, V shift) {
    const V d = hn::Sub(x, shift);
    return hn::Mul(d, d);
  }
};

template <class Term>
void sum_row(const float* x, std::int64_t count, const float* shift, bool begin, float* lanes) {
  const V by = shift == nullptr ? hn::Zero(kFloats) : hn::Set(kFloats, *shift);
  V acc[kSumVectors];
  for (int v = 0; v < kSumVectors; ++v) {
    acc[v] = begin ? absent() : hn::LoadU(kFloats, lanes + v * kLanes);
  }
  for (; count >= kSumLanes; count -= kSumLanes, x += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kSumVectors; ++v) {
      acc[v] = hn::Add(acc[v], Term::of(hn::LoadU(kFloats, x + v * kLanes), by));
    }
  }
  for (int v = 0; v < kSumVectors && count > v * kLanes; ++v) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - v * kLanes, kLanes));
    const V term = Term::of(load_first(rest, x + v * kLanes), by);
    acc[v] = hn::Add(acc[v], hn::IfThenElse(first(rest), term, absent()));
  }
  for (int v = 0; v < kSumVectors; ++v) hn::StoreU(acc[v], kFloats, lanes + v * kLanes);
}
inline float sum_total(const float* lanes) {
  V acc[kSumVectors];
  for (int v = 0; v < kSumVectors; ++v) acc[v] = hn::LoadU(kFloats, lanes + v * kLanes);
  const float total = tree_of_vectors(acc);
  return total != total ? std::numeric_limits<float>::quiet_NaN() : total;
}

/// Whole vectors of columns, or the first `rest` of one.
template <int kVectors>
HWY_INLINE V column_at(const float* x, int v, int rest) {
  if constexpr (kVectors > 1) return hn::LoadU(kFloats, x + v * kLanes);
  return load_first(rest, x);
}

/// One lane after another, in the order in which their tree wants them: what waits for its
/// neighbour is kept by level.
template <class Term, int kVectors>
HWY_INLINE void sum_some(const float* x, const std::int64_t* rows, std::int64_t count,
                         const float* shift, float* y, int rest) {
  V by[kVectors], waiting[5][kVectors], acc[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    by[v] = shift == nullptr ? hn::Zero(kFloats) : column_at<kVectors>(shift, v, rest);
  }
  // Of few elements only the first lanes hold any: what the others would add changes nothing.
  int bits = 5;
  while (bits > 0 && count <= kSumLanes >> (6 - bits)) --bits;
  for (int i = 0; i < 1 << bits; ++i) {
    const int reversed = (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
    const int lane = reversed >> (5 - bits);
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[v] = absent();
    for (std::int64_t p = lane; p < count; p += kSumLanes) {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[v] = hn::Add(acc[v], Term::of(column_at<kVectors>(x + rows[p], v, rest), by[v]));
      }
    }
    int level = 0;
    for (; (i >> level & 1) != 0; ++level) {
      COMMENSAL_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[v] = hn::Add(waiting[level][v], acc[v]);
    }
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors && level < 5; ++v) waiting[level][v] = acc[v];
  }
  COMMENSAL_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const V total = canonical(hn::Add(acc[v], hn::Zero(kFloats)));
    if constexpr (kVectors > 1) {
      hn::StoreU(total, kFloats, y + v * kLanes);
    } else {
      store_first(rest, total, y);
    }
  }
}
template <class Term>
void sum_columns(const float* x, const std::int64_t* rows, std::int64_t count, const float* shift,
                 float* y, std::int64_t columns) {
  std::int64_t i = 0;
  const auto by = [&] { return shift == nullptr ? nullptr : shift + i; };
  for (; i + kAbreast * kLanes <= columns; i += kAbreast * kLanes) {
    sum_some<Term, kAbreast>(x + i, rows, count, by(), y + i, kLanes);
  }
  for (; i < columns; i += kLanes) {
    sum_some<Term, 1>(x + i, rows, count, by(), y + i,
                      static_cast<int>(std::min<std::int64_t>(columns - i, kLanes)));
  }
}

template <bool kMost>
void extreme_row(const float* x, std::int64_t count, const float*, bool begin, float* lanes) {
  using O = Order<float, kMost>;
  const typename O::Integers d;
  typename O::I best[kSumVectors];
  for (int v = 0; v < kSumVectors; ++v) {
    best[v] = begin ? O::start() : hn::BitCast(d, hn::LoadU(kFloats, lanes + v * kLanes));
  }
  for (; count >= kSumLanes; count -= kSumLanes, x += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kSumVectors; ++v) {
      best[v] = O::better(best[v], O::key(hn::LoadU(kFloats, x + v * kLanes)));
    }
  }
  for (int v = 0; v < kSumVectors && count > v * kLanes; ++v) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - v * kLanes, kLanes));
    const auto key = O::key(load_first(rest, x + v * kLanes));
    best[v] = hn::IfThenElse(hn::RebindMask(d, first(rest)), O::better(best[v], key), best[v]);
  }
  for (int v = 0; v < kSumVectors; ++v) {
    hn::StoreU(hn::BitCast(kFloats, best[v]), kFloats, lanes + v * kLanes);
  }
}
template <bool kMost>
float extreme_total(const float* lanes) {
  using O = Order<float, kMost>;
  const typename O::Integers d;
  auto best = O::start();
  for (int v = 0; v < kSumVectors; ++v) {
    best = O::better(best, hn::BitCast(d, hn::LoadU(kFloats, lanes + v * kLanes)));
  }
  best = kMost ? hn::MaxOfLanes(d, best) : hn::MinOfLanes(d, best);
  return hn::GetLane(O::value(best));
}
template <bool kMost, int kVectors>
HWY_INLINE void extreme_some(const float* x, const std::int64_t* rows, std::int64_t count, float* y,
                             int rest) {
  using O = Order<float, kMost>;
  typename O::I best[kVectors];
  for (auto& one : best) one = O::start();
  for (std::int64_t p = 0; p < count; ++p) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      best[v] = O::better(best[v], O::key(column_at<kVectors>(x + rows[p], v, rest)));
    }
  }
  COMMENSAL_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kVectors > 1) {
      hn::StoreU(O::value(best[v]), kFloats, y + v * kLanes);
    } else {
      store_first(rest, O::value(best[v]), y);
    }
  }
}
template <bool kMost>
void extreme_columns(const float* x, const std::int64_t* rows, std::int64_t count, const float*,
                     float* y, std::int64_t columns) {
  std::int64_t i = 0;
  for (; i + kAbreast * kLanes <= columns; i += kAbreast * kLanes) {
    extreme_some<kMost, kAbreast>(x + i, rows, count, y + i, kLanes);
  }
  for (; i < columns; i += kLanes) {
    extreme_some<kMost, 1>(x + i, rows, count, y + i,
                           static_cast<int>(std::min<std::int64_t>(columns - i, kLanes)));
  }
}

template <bool kMost>
void places_of(const float* x, const std::int64_t* rows, std::int64_t count, std::int64_t* where,
               std::int64_t columns) {
  using O = Order<float, kMost>;
  const typename O::Integers d;
  for (std::int64_t i = 0; i < columns; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(columns - i, kLanes));
    auto best = O::key(load_first(rest, x + rows[0] + i));
    auto at = hn::Zero(d);
    for (std::int64_t p = 1; p < count; ++p) {
      const auto key = O::key(load_first(rest, x + rows[p] + i));
      at = hn::IfThenElse(O::is_better(key, best), hn::Set(d, static_cast<std::int32_t>(p)), at);
      best = O::better(best, key);
    }
    HWY_ALIGN std::int32_t lanes[kLanes];
    hn::Store(at, d, lanes);
    std::copy_n(lanes, rest, where + i);
  }
}

inline std::int64_t find_bits(const float* x, std::int64_t count, float value) {
  const hn::RebindToSigned<Floats> d;
  const auto wanted = hn::BitCast(d, hn::Set(kFloats, value));
  const bool any_nan = value != value;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kLanes));
    const V one = load_first(rest, x + i);
    const auto same =
        any_nan ? hn::RebindMask(d, hn::IsNaN(one)) : hn::Eq(hn::BitCast(d, one), wanted);
    const auto found = hn::FindFirstTrue(d, hn::And(same, hn::RebindMask(d, first(rest))));
    if (found >= 0) return i + found;
  }
  return count;
}

template <bool kMost>
HWY_INLINE typename Order<float, kMost>::I rank_of(typename Order<float, kMost>::I key) {
  return kMost ? hn::Not(key) : key;
}
template <bool kMost>
HWY_INLINE void add_ahead(V x, hn::Mask<Floats> wanted, std::int64_t at, Ahead& to) {
  using O = Order<float, kMost>;
  const typename O::Integers d;
  const auto rank = rank_of<kMost>(O::key(x));
  const auto ahead = hn::And(hn::Lt(rank, hn::Set(d, to.bound)), hn::RebindMask(d, wanted));
  HWY_ALIGN std::int32_t ranks[kLanes];
  hn::Store(rank, d, ranks);
  std::uint8_t bytes[sizeof(std::uint64_t)] = {};
  hn::StoreMaskBits(d, ahead, bytes);
  std::uint64_t left;
  std::memcpy(&left, bytes, sizeof left);
  for (; left != 0; left &= left - 1) {  // few: Highway's Compress copies a table each time
    const int lane = std::countr_zero(left);
    const auto to_next = static_cast<std::size_t>(to.count++);
    to.ranks[to_next] = ranks[lane];
    to.where[to_next] = static_cast<std::int32_t>(at) + lane;
  }
}
/// Most elements are far behind: first, vectors that hold none but those are told apart by values.
template <bool kMost>
std::int64_t ahead(const float* x, std::int64_t at, std::int64_t end, Ahead& to) {
  static_assert(kAbreast * kLanes <= Ahead::kSlack);
  using O = Order<float, kMost>;
  const V bound = O::value(rank_of<kMost>(hn::Set(typename O::Integers(), to.bound)));
  const auto behind = [&](V one) { return kMost ? hn::Lt(one, bound) : hn::Gt(one, bound); };
  for (; at + kAbreast * kLanes <= end; at += kAbreast * kLanes) {
    auto all = behind(hn::LoadU(kFloats, x + at));
    COMMENSAL_UNROLL
    for (int v = 1; v < kAbreast; ++v) {
      all = hn::And(all, behind(hn::LoadU(kFloats, x + at + v * kLanes)));
    }
    if (hn::AllTrue(kFloats, all)) continue;
    if (to.count >= to.room) return at;
    for (int v = 0; v < kAbreast; ++v) {
      const std::int64_t from = at + v * kLanes;
      add_ahead<kMost>(hn::LoadU(kFloats, x + from), first(kLanes), from, to);
    }
  }
  for (; at < end; at += kLanes) {
    if (to.count >= to.room) return at;
    const auto rest = static_cast<int>(std::min<std::int64_t>(end - at, kLanes));
    add_ahead<kMost>(load_first(rest, x + at), first(rest), at, to);
  }
  return end;
}

const FoldKernels& fold_kernels() {
  static constexpr FoldKernels kKernels = {
      {{{sum_row<Itself>, sum_total, sum_columns<Itself>},
        {sum_row<Magnitude>, sum_total, sum_columns<Magnitude>},
        {sum_row<Square>, sum_total, sum_columns<Square>},
        {sum_row<Deviation>, sum_total, sum_columns<Deviation>},
        {extreme_row<true>, extreme_total<true>, extreme_columns<true>},
        {extreme_row<false>, extreme_total<false>, extreme_columns<false>}}},
      find_bits,
      places_of<true>,
      places_of<false>,
      ahead<true>,
      ahead<false>};
  return kKernels;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::FoldKernels& cpu::fold_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, fold_kernels());
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
