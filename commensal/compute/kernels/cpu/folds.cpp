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
  template <class X>
  static HWY_INLINE X of(X x, X) {
    return x;
  }
};
struct Magnitude {
  template <class X>
  static HWY_INLINE X of(X x, X) {
    return hn::Abs(x);
  }
};
struct Square {
  template <class X>
  static HWY_INLINE X of(X x, X) {
    return hn::Mul(x, x);
  }
};
struct Deviation {
  template <class X>
  static HWY_INLINE X of(X x, X shift) {
    const X d = hn::Sub(x, shift);
    return hn::Mul(d, d);
  }
};

template <class T>
HWY_INLINE auto first_lanes(int count) {
  return hn::FirstN(LanesOf<T>(), static_cast<std::size_t>(count));
}

template <class T, class Term>
HWY_INLINE void add_row(const T* x, std::int64_t count, const T* shift, VectorOf<T>* acc) {
  constexpr LanesOf<T> d;
  constexpr int kOne = kLanesOf<T>, kVectors = kSumVectorsOf<T>;
  const auto by = shift == nullptr ? hn::Zero(d) : hn::Set(d, *shift);
  for (; count >= kSumLanes; count -= kSumLanes, x += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      acc[v] = hn::Add(acc[v], Term::of(hn::LoadU(d, x + v * kOne), by));
    }
  }
  for (int v = 0; v < kVectors && count > v * kOne; ++v) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - v * kOne, kOne));
    const auto term = Term::of(load_first(rest, x + v * kOne), by);
    acc[v] = hn::Add(acc[v], hn::IfThenElse(first_lanes<T>(rest), term, absent<T>()));
  }
}
template <class T>
HWY_INLINE T canonical_total(VectorOf<T>* acc) {
  const T total = tree_of_vectors<T>(acc);
  return total != total ? std::numeric_limits<T>::quiet_NaN() : total;
}
template <class T, class Term>
void sum_row(const T* x, std::int64_t count, const T* shift, bool begin, T* lanes) {
  constexpr LanesOf<T> d;
  VectorOf<T> acc[kSumVectorsOf<T>];
  for (int v = 0; v < kSumVectorsOf<T>; ++v) {
    acc[v] = begin ? absent<T>() : hn::LoadU(d, lanes + v * kLanesOf<T>);
  }
  add_row<T, Term>(x, count, shift, acc);
  for (int v = 0; v < kSumVectorsOf<T>; ++v) hn::StoreU(acc[v], d, lanes + v * kLanesOf<T>);
}
template <class T>
T sum_total(const T* lanes) {
  VectorOf<T> acc[kSumVectorsOf<T>];
  for (int v = 0; v < kSumVectorsOf<T>; ++v) {
    acc[v] = hn::LoadU(LanesOf<T>(), lanes + v * kLanesOf<T>);
  }
  return canonical_total<T>(acc);
}
template <class T, class Term>
T sum_whole(const T* x, std::int64_t count, const T* shift) {
  VectorOf<T> acc[kSumVectorsOf<T>];
  for (auto& one : acc) one = absent<T>();
  add_row<T, Term>(x, count, shift, acc);
  return canonical_total<T>(acc);
}

/// Whole vectors of columns, or the first `rest` of one.
template <int kVectors, class T>
HWY_INLINE VectorOf<T> column_at(const T* x, int v, int rest) {
  if constexpr (kVectors > 1) return hn::LoadU(LanesOf<T>(), x + v * kLanesOf<T>);
  return load_first(rest, x);
}
template <int kVectors, class T>
HWY_INLINE void store_columns(VectorOf<T> made, T* y, int v, int rest) {
  if constexpr (kVectors > 1) {
    hn::StoreU(made, LanesOf<T>(), y + v * kLanesOf<T>);
  } else {
    store_first(rest, made, y);
  }
}

/// One lane after another, in the order in which their tree wants them: what waits for its
/// neighbour is kept by level.
template <class Term, int kVectors, class T>
HWY_INLINE void sum_some(const T* x, const std::int64_t* rows, std::int64_t count, const T* shift,
                         T* y, int rest) {
  VectorOf<T> by[kVectors], waiting[5][kVectors], acc[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    by[v] = shift == nullptr ? hn::Zero(LanesOf<T>()) : column_at<kVectors>(shift, v, rest);
  }
  // Of few elements only the first lanes hold any: what the others would add changes nothing.
  int bits = 5;
  while (bits > 0 && count <= kSumLanes >> (6 - bits)) --bits;
  for (int i = 0; i < 1 << bits; ++i) {
    const int reversed = (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
    const int lane = reversed >> (5 - bits);
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[v] = absent<T>();
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
    const auto total = canonical(hn::Add(acc[v], hn::Zero(LanesOf<T>())));
    store_columns<kVectors>(total, y, v, rest);
  }
}
template <class T, class Term>
void sum_columns(const T* x, const std::int64_t* rows, std::int64_t count, const T* shift, T* y,
                 std::int64_t columns) {
  constexpr int kOne = kLanesOf<T>;
  std::int64_t i = 0;
  const auto by = [&] { return shift == nullptr ? nullptr : shift + i; };
  for (; i + kAbreast * kOne <= columns; i += kAbreast * kOne) {
    sum_some<Term, kAbreast>(x + i, rows, count, by(), y + i, kOne);
  }
  for (; i < columns; i += kOne) {
    sum_some<Term, 1>(x + i, rows, count, by(), y + i,
                      static_cast<int>(std::min<std::int64_t>(columns - i, kOne)));
  }
}

template <class T, bool kMost>
HWY_INLINE void extend_row(const T* x, std::int64_t count, typename Order<T, kMost>::I* best) {
  using O = Order<T, kMost>;
  constexpr typename O::Integers d;
  constexpr LanesOf<T> values;
  constexpr int kOne = kLanesOf<T>, kVectors = kSumVectorsOf<T>;
  for (; count >= kSumLanes; count -= kSumLanes, x += kSumLanes) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      best[v] = O::better(best[v], O::key(hn::LoadU(values, x + v * kOne)));
    }
  }
  for (int v = 0; v < kVectors && count > v * kOne; ++v) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - v * kOne, kOne));
    const auto key = O::key(load_first(rest, x + v * kOne));
    best[v] =
        hn::IfThenElse(hn::RebindMask(d, first_lanes<T>(rest)), O::better(best[v], key), best[v]);
  }
}
template <class T, bool kMost>
HWY_INLINE T best_of(const typename Order<T, kMost>::I* all) {
  using O = Order<T, kMost>;
  constexpr typename O::Integers d;
  auto best = O::start();
  for (int v = 0; v < kSumVectorsOf<T>; ++v) best = O::better(best, all[v]);
  best = kMost ? hn::MaxOfLanes(d, best) : hn::MinOfLanes(d, best);
  return hn::GetLane(O::value(best));
}
template <class T, bool kMost>
void extreme_row(const T* x, std::int64_t count, const T*, bool begin, T* lanes) {
  using O = Order<T, kMost>;
  constexpr typename O::Integers d;
  constexpr LanesOf<T> values;
  constexpr int kOne = kLanesOf<T>, kVectors = kSumVectorsOf<T>;
  typename O::I best[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    best[v] = begin ? O::start() : hn::BitCast(d, hn::LoadU(values, lanes + v * kOne));
  }
  extend_row<T, kMost>(x, count, best);
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(hn::BitCast(values, best[v]), values, lanes + v * kOne);
  }
}
template <class T, bool kMost>
T extreme_total(const T* lanes) {
  using O = Order<T, kMost>;
  constexpr typename O::Integers d;
  typename O::I best[kSumVectorsOf<T>];
  for (int v = 0; v < kSumVectorsOf<T>; ++v) {
    best[v] = hn::BitCast(d, hn::LoadU(LanesOf<T>(), lanes + v * kLanesOf<T>));
  }
  return best_of<T, kMost>(best);
}
template <class T, bool kMost>
T extreme_whole(const T* x, std::int64_t count, const T*) {
  using O = Order<T, kMost>;
  typename O::I best[kSumVectorsOf<T>];
  for (auto& one : best) one = O::start();
  extend_row<T, kMost>(x, count, best);
  return best_of<T, kMost>(best);
}
template <bool kMost, int kVectors, class T>
HWY_INLINE void extreme_some(const T* x, const std::int64_t* rows, std::int64_t count, T* y,
                             int rest) {
  using O = Order<T, kMost>;
  typename O::I best[kVectors];
  for (auto& one : best) one = O::start();
  for (std::int64_t p = 0; p < count; ++p) {
    COMMENSAL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      best[v] = O::better(best[v], O::key(column_at<kVectors>(x + rows[p], v, rest)));
    }
  }
  COMMENSAL_UNROLL
  for (int v = 0; v < kVectors; ++v) store_columns<kVectors>(O::value(best[v]), y, v, rest);
}
template <class T, bool kMost>
void extreme_columns(const T* x, const std::int64_t* rows, std::int64_t count, const T*, T* y,
                     std::int64_t columns) {
  constexpr int kOne = kLanesOf<T>;
  std::int64_t i = 0;
  for (; i + kAbreast * kOne <= columns; i += kAbreast * kOne) {
    extreme_some<kMost, kAbreast>(x + i, rows, count, y + i, kOne);
  }
  for (; i < columns; i += kOne) {
    extreme_some<kMost, 1>(x + i, rows, count, y + i,
                           static_cast<int>(std::min<std::int64_t>(columns - i, kOne)));
  }
}

template <class T, bool kMost>
void places_of(const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t* where,
               std::int64_t columns) {
  using O = Order<T, kMost>;
  using Key = typename O::Key;
  constexpr typename O::Integers d;
  constexpr int kOne = kLanesOf<T>;
  for (std::int64_t i = 0; i < columns; i += kOne) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(columns - i, kOne));
    auto best = O::key(load_first(rest, x + rows[0] + i));
    auto at = hn::Zero(d);
    for (std::int64_t p = 1; p < count; ++p) {
      const auto key = O::key(load_first(rest, x + rows[p] + i));
      at = hn::IfThenElse(O::is_better(key, best), hn::Set(d, static_cast<Key>(p)), at);
      best = O::better(best, key);
    }
    HWY_ALIGN Key lanes[kOne];
    hn::Store(at, d, lanes);
    std::copy_n(lanes, rest, where + i);
  }
}

template <class T>
std::int64_t find_bits(const T* x, std::int64_t count, T value) {
  constexpr hn::RebindToSigned<LanesOf<T>> d;
  constexpr int kOne = kLanesOf<T>;
  const auto wanted = hn::BitCast(d, hn::Set(LanesOf<T>(), value));
  const bool any_nan = value != value;
  for (std::int64_t i = 0; i < count; i += kOne) {
    const auto rest = static_cast<int>(std::min<std::int64_t>(count - i, kOne));
    const auto one = load_first(rest, x + i);
    const auto same =
        any_nan ? hn::RebindMask(d, hn::IsNaN(one)) : hn::Eq(hn::BitCast(d, one), wanted);
    const auto found = hn::FindFirstTrue(d, hn::And(same, hn::RebindMask(d, first_lanes<T>(rest))));
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

template <class T>
constexpr FoldKernelsOf<T> fold_kernels() {
  return {
      {{{sum_row<T, Itself>, sum_total<T>, sum_whole<T, Itself>, sum_columns<T, Itself>},
        {sum_row<T, Magnitude>, sum_total<T>, sum_whole<T, Magnitude>, sum_columns<T, Magnitude>},
        {sum_row<T, Square>, sum_total<T>, sum_whole<T, Square>, sum_columns<T, Square>},
        {sum_row<T, Deviation>, sum_total<T>, sum_whole<T, Deviation>, sum_columns<T, Deviation>},
        {extreme_row<T, true>, extreme_total<T, true>, extreme_whole<T, true>,
         extreme_columns<T, true>},
        {extreme_row<T, false>, extreme_total<T, false>, extreme_whole<T, false>,
         extreme_columns<T, false>}}},
      find_bits<T>,
      places_of<T, true>,
      places_of<T, false>};
}
constexpr FoldKernels fold_kernels_of_floats() {
  FoldKernels made = fold_kernels<float>();
  made.ahead_of_largest = ahead<true>;
  made.ahead_of_smallest = ahead<false>;
  return made;
}
inline constexpr FoldKernels kFoldsOfFloats = fold_kernels_of_floats();
inline constexpr FoldKernelsOf<double> kFoldsOfDoubles = fold_kernels<double>();

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

template <>
const cpu::FoldKernelsOf<float>& cpu::fold_kernels_for<float>(Isa isa) {
  return COMMENSAL_OF_ISA(isa, kFoldsOfFloats);
}
template <>
const cpu::FoldKernelsOf<double>& cpu::fold_kernels_for<double>(Isa isa) {
  return COMMENSAL_OF_ISA(isa, kFoldsOfDoubles);
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
