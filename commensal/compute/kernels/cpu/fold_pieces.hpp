// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/folds.hpp>
#include <commensal/compute/kernels/ref/fold_rows.hpp>
#include <type_traits>

namespace commensal::kernels::cpu {

/// A reduction of floats or doubles cut into pieces: an output whose elements lie in runs (a row),
/// or neighbours whose elements lie side by side (columns).
class FoldPieces {
 public:
  static constexpr std::int64_t kAcross = 256;  // columns of a piece at most
  static constexpr std::int64_t kRow = 1024;    // elements of a row that are handed on at once

  struct Piece {
    std::int64_t base = 0;    // of its first element
    std::int64_t output = 0;  // its first output
    std::int64_t count = 1;   // outputs
  };

  /// Whether no piece takes long.
  static bool suit(const ref::Folding& folding);
  /// It suits, and something is folded.
  FoldPieces(const ref::Folding& folding, Isa isa);

  const ref::FoldLayout& layout() const { return layout_; }
  /// Whether pieces are columns.
  bool across() const { return layout_.inner() > 1; }

  /// Calls f(pulse, piece) for all, on the pool's threads.
  template <class F>
  void run(ThreadPool& threads, const F& f) const {
    constexpr std::int64_t kTask = 16384;
    const std::int64_t inner = layout_.inner(), parts = (inner + width_ - 1) / width_;
    const std::int64_t pieces = outputs_ / inner * parts;
    const std::int64_t of_piece = elements_ * std::min(inner, width_);
    const std::int64_t a_task =
        std::max<std::int64_t>(kTask / std::max<std::int64_t>(of_piece, 1), 1);
    threads.run((pieces + a_task - 1) / a_task, [&](std::int64_t task) {
      Pulse pulse(&threads);
      for (std::int64_t i = task * a_task; i < std::min(pieces, (task + 1) * a_task); ++i) {
        const std::int64_t from = i % parts * width_;
        f(pulse, Piece{layout_.base(i / parts) + from, i / parts * inner + from,
                       std::min(width_, inner - from)});
      }
    });
  }

  /// y[i] of output i of the piece, by shift[i] where the fold has one.
  template <class T>
  void fold(Pulse& pulse, Fold fold, const T* x, const Piece& piece,
            const std::type_identity_t<T>* shift, T* y) const;
  /// Positions of the first largest or smallest. One axis is folded.
  template <class T>
  void places(Pulse& pulse, bool largest, const T* x, const Piece& piece,
              std::int64_t* where) const;

  /// Calls f(from, count) for the elements of a row, in order, multiples of kRow but for the last.
  template <class T, class F>
  void for_row(Pulse& pulse, const T* x, const F& f) const {
    if (layout_.runs().size() == 1 || layout_.run() % kRow == 0) {
      layout_.for_row(pulse, 0,
                      [&](std::int64_t, std::int64_t at, std::int64_t count) { f(x + at, count); });
      return;
    }
    std::array<T, kRow> together;
    std::int64_t have = 0;
    layout_.for_row(pulse, 0, [&](std::int64_t, std::int64_t at, std::int64_t count) {
      for (std::int64_t i = 0; i < count;) {
        const std::int64_t part = std::min(kRow - have, count - i);
        std::copy_n(x + at + i, part, together.data() + have);
        i += part;
        have += part;
        if (have < kRow) continue;
        f(together.data(), kRow);
        have = 0;
      }
    });
    if (have > 0) f(together.data(), have);
  }

 private:
  ref::FoldLayout layout_;
  Isa isa_;
  std::int64_t outputs_ = 0, elements_ = 0;  // elements: of one output
  std::int64_t width_ = kAcross;             // columns of a piece
};

}  // namespace commensal::kernels::cpu
