// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/folding.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <cstring>
#include <vector>

/// The folds of fold.hpp over many elements at once, with the same bits: elements that lie side by
/// side are of one output (a row), or of as many outputs (columns). Inner loops have a fixed number
/// of turns, so that compilers make vectors of them.
namespace commensal::kernels::ref {

inline constexpr int kColumns = 32;

/// `f(i)` for 0 to kColumns - 1.
template <class F>
void each_column(const F& f) {
  for (int i = 0; i < kColumns; ++i) f(i);
}

template <class C>
class SumColumns {
 public:
  SumColumns() {
    for (auto& lane : lanes_) lane.fill(-C{0});
  }
  void add(std::int64_t position, const C* x) {
    C* const lane = lanes_[static_cast<std::size_t>(position % kLanes)].data();
    each_column([&](int i) { lane[i] = plus(lane[i], x[i]); });
  }
  void result(C* out) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) {
        each_column([&, a = lanes_[l].data(), b = lanes_[l + half].data()](int i) {
          a[i] = plus(a[i], b[i]);
        });
      }
    }
    each_column([&](int i) { out[i] = plus(lanes_[0][static_cast<std::size_t>(i)], C{0}); });
  }

 private:
  static constexpr int kLanes = Sum<C>::kLanes;
  std::array<std::array<C, kColumns>, kLanes> lanes_;
};

template <class C>
class SumRow {
 public:
  SumRow() { lanes_.fill(-C{0}); }
  /// `term(i)` at position `from + i`.
  template <class F>
  void add(std::int64_t from, std::int64_t count, const F& term) {
    std::int64_t i = 0;
    const auto one = [&] {
      C& lane = lanes_[static_cast<std::size_t>((from + i) % kLanes)];
      lane = plus(lane, term(i));
      ++i;
    };
    while (i < count && (from + i) % kLanes != 0) one();
    for (; i + kLanes <= count; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) lanes_[l] = plus(lanes_[l], term(i + l));
    }
    while (i < count) one();
  }
  C result() {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lanes_[l] = plus(lanes_[l], lanes_[l + half]);
    }
    return plus(lanes_[0], C{0});
  }

 private:
  static constexpr int kLanes = Sum<C>::kLanes;
  std::array<C, kLanes> lanes_;
};

/// A whole number for each value, in the order of `above` (kMaximum) or `below` from the other end:
/// the one that an extreme keeps is the largest (smallest).
template <class C, bool kMaximum>
struct ExtremeKey {
  static constexpr bool kIsFloat = std::is_floating_point_v<C>;
  using Bits = std::conditional_t<sizeof(C) == 8, std::int64_t, std::int32_t>;
  using Key = std::conditional_t<kIsFloat, Bits, C>;
  static constexpr Key kNan =
      kMaximum ? std::numeric_limits<Key>::max() : std::numeric_limits<Key>::lowest();

  static Key of(C x) {
    if constexpr (kIsFloat) {
      Bits bits;
      std::memcpy(&bits, &x, sizeof bits);
      return x != x ? kNan : flipped(bits);
    } else {
      return x;
    }
  }
  static C value(Key key) {
    if constexpr (kIsFloat) {
      if (key == kNan) return std::numeric_limits<C>::quiet_NaN();
      const Bits bits = flipped(key);
      C x;
      std::memcpy(&x, &bits, sizeof x);
      return x;
    } else {
      return key;
    }
  }
  static bool is_nan(Key key) { return kIsFloat && key == kNan; }
  static Key better(Key a, Key b) { return kMaximum ? std::max(a, b) : std::min(a, b); }
  static bool is_better(Key a, Key b) { return kMaximum ? a > b : a < b; }
  /// Of no element.
  static Key start() { return of(Extreme<C, kMaximum>().value()); }

 private:
  static constexpr Bits flipped(Bits bits) {
    return bits ^ (bits >> (8 * sizeof(Bits) - 1) & std::numeric_limits<Bits>::max());
  }
};

template <class C, bool kMaximum>
class ExtremeColumns {
 public:
  ExtremeColumns() { best_.fill(K::start()); }
  void add(std::int64_t, const C* x) {
    each_column([&, best = best_.data()](int i) { best[i] = K::better(best[i], K::of(x[i])); });
  }
  void result(C* out) const {
    each_column([&](int i) { out[i] = K::value(best_[static_cast<std::size_t>(i)]); });
  }

 private:
  using K = ExtremeKey<C, kMaximum>;
  std::array<typename K::Key, kColumns> best_;
};

template <class C, bool kMaximum>
class ExtremeRow {
 public:
  ExtremeRow() { best_.fill(K::start()); }
  template <class F>
  void add(std::int64_t, std::int64_t count, const F& term) {
    std::int64_t i = 0;
    for (; i + kColumns <= count; i += kColumns) {
      each_column(
          [&, best = best_.data()](int k) { best[k] = K::better(best[k], K::of(term(i + k))); });
    }
    for (; i < count; ++i) best_[0] = K::better(best_[0], K::of(term(i)));
  }
  C result() const {
    typename K::Key best = best_[0];
    for (const auto key : best_) best = K::better(best, key);
    return K::value(best);
  }

 private:
  using K = ExtremeKey<C, kMaximum>;
  std::array<typename K::Key, kColumns> best_;
};

template <class C>
class ProductColumns {
 public:
  ProductColumns() { product_.fill(C{1}); }
  void add(std::int64_t, const C* x) {
    each_column([&, to = product_.data()](int i) { to[i] = times(to[i], x[i]); });
  }
  void result(C* out) const { std::copy(product_.begin(), product_.end(), out); }

 private:
  std::array<C, kColumns> product_;
};

template <class C>
class ProductRow {
 public:
  template <class F>
  void add(std::int64_t, std::int64_t count, const F& term) {
    for (std::int64_t i = 0; i < count; ++i) product_ = times(product_, term(i));
  }
  C result() const { return product_; }

 private:
  C product_{1};
};

/// How the elements of a reduction lie in memory: `runs` of `run` elements that are folded, or
/// `inner` outputs side by side; one of the two is 1.
class FoldLayout {
 public:
  explicit FoldLayout(const Folding& folding);
  /// Not where there would be too many runs to list.
  static bool suits(const Folding& folding);

  std::int64_t run() const { return run_; }
  std::int64_t inner() const { return inner_; }
  /// Where each run begins, from the first element of an output on.
  const std::vector<std::int64_t>& runs() const { return runs_; }
  std::int64_t bytes() const { return std::ssize(runs_) * 8 + std::ssize(outer_) * 16; }
  /// Where the first element of outputs outer * inner() and on is.
  std::int64_t base(std::int64_t outer) const;

  /// Makes all `outputs` of y, on the pool's threads: by y[i] = fold.row(pulse, *this, x, base), or
  /// by fold.columns(pulse, *this, x + base, y + i, count) of `count` outputs from i on.
  template <class Fold, class T, class Y>
  void make(ThreadPool& threads, const Fold& fold, const T* x, std::span<Y> y) const {
    const auto outputs = static_cast<std::int64_t>(y.size());
    const std::int64_t across = (inner_ + kColumns - 1) / kColumns;
    const std::int64_t pieces = inner_ > 1 ? outputs / inner_ * across : outputs;
    const auto folded = static_cast<std::int64_t>(runs_.size()) * run_;
    const std::int64_t of_piece = std::max<std::int64_t>(folded * (inner_ > 1 ? kColumns : 1), 1);
    const std::int64_t pieces_a_task = std::max<std::int64_t>(kTask / of_piece, 1);
    threads.run((pieces + pieces_a_task - 1) / pieces_a_task, [&](std::int64_t task) {
      const std::int64_t end = std::min(pieces, (task + 1) * pieces_a_task);
      Pulse pulse(&threads);
      for (std::int64_t piece = task * pieces_a_task; piece < end; ++piece) {
        if (inner_ == 1) {
          y[static_cast<std::size_t>(piece)] = fold.row(pulse, *this, x, base(piece));
          continue;
        }
        const std::int64_t from = piece % across * kColumns, outer = piece / across;
        fold.columns(pulse, *this, x + base(outer) + from, y.data() + outer * inner_ + from,
                     std::min<std::int64_t>(kColumns, inner_ - from));
      }
    });
  }
  /// Calls f(position, where, count) for what a row folds, from `base` on, in short pieces.
  template <class F>
  void for_row(Pulse& pulse, std::int64_t base, const F& f) const {
    constexpr std::int64_t kPiece = 1 << 14;  // a multiple of what rows are folded by
    std::int64_t position = 0;
    for (const std::int64_t begin : runs_) {
      for (std::int64_t i = 0; i < run_; i += kPiece) {
        const std::int64_t count = std::min(kPiece, run_ - i);
        f(position + i, base + begin + i, count);
        pulse(count);
      }
      position += run_;
    }
  }

 private:
  static constexpr std::int64_t kTask = 16384;
  struct Dim {
    std::int64_t extent, stride;
  };
  std::int64_t run_ = 1, inner_ = 1;
  std::vector<std::int64_t> runs_;
  std::vector<Dim> outer_;  // kept dimensions before the last
};

}  // namespace commensal::kernels::ref
