// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/fold_pieces.hpp>

namespace commensal::kernels::cpu {

FoldPieces::FoldPieces(const ref::Folding& folding, Isa isa)
    : layout_(folding),
      isa_(isa),
      outputs_(folding.kept.elements()),
      elements_(folding.count()),
      width_(std::clamp<std::int64_t>((1 << 22) / elements_ / 16 * 16, 16, kAcross)) {}

bool FoldPieces::suit(const ref::Folding& folding) {
  if (!ref::FoldLayout::suits(folding)) return false;
  int last = folding.from.rank() - 1;
  while (last >= 0 && folding.from[last] == 1) --last;
  return last < 0 || folding.kept[last] == 1 || folding.count() <= (1 << 18);
}

template <class T>
void FoldPieces::fold(Pulse& pulse, Fold fold, const T* x, const Piece& piece,
                      const std::type_identity_t<T>* shift, T* y) const {
  const FoldKernelOf<T>& kernel = fold_kernels_for<T>(isa_).of(fold);
  if (across()) {
    kernel.columns(x + piece.base, layout_.runs().data(),
                   static_cast<std::int64_t>(layout_.runs().size()), shift, y, piece.count);
    pulse(elements_ * piece.count / 4);
    return;
  }
  if (layout_.runs().size() == 1 && layout_.run() <= kRow) {
    *y = kernel.whole(x + piece.base + layout_.runs()[0], layout_.run(), shift);
    return pulse(elements_ / 4);
  }
  std::array<T, FoldKernel::kLanes> lanes;
  bool begin = true;
  for_row(pulse, x + piece.base, [&](const T* from, std::int64_t count) {
    kernel.row(from, count, shift, begin, lanes.data());
    begin = false;
  });
  *y = kernel.total(lanes.data());
}

template <class T>
void FoldPieces::places(Pulse& pulse, bool largest, const T* x, const Piece& piece,
                        std::int64_t* where) const {
  const FoldKernelsOf<T>& kernels = fold_kernels_for<T>(isa_);
  const T* const from = x + piece.base;
  if (across()) {
    (largest ? kernels.where_largest : kernels.where_smallest)(
        from, layout_.runs().data(), static_cast<std::int64_t>(layout_.runs().size()), where,
        piece.count);
    pulse(elements_ * piece.count / 4);
    return;
  }
  T best = 0;
  fold(pulse, largest ? Fold::kMaximum : Fold::kMinimum, x, piece, nullptr, &best);
  std::int64_t at = 0;
  while (at < elements_) {
    const std::int64_t part = std::min<std::int64_t>(1 << 14, elements_ - at);
    const std::int64_t found = kernels.find(from + at, part, best);
    at += found;
    if (found < part) break;
    pulse(part);
  }
  *where = at;
}

template void FoldPieces::fold(Pulse&, Fold, const float*, const Piece&, const float*,
                               float*) const;
template void FoldPieces::fold(Pulse&, Fold, const double*, const Piece&, const double*,
                               double*) const;
template void FoldPieces::places(Pulse&, bool, const float*, const Piece&, std::int64_t*) const;
template void FoldPieces::places(Pulse&, bool, const double*, const Piece&, std::int64_t*) const;

}  // namespace commensal::kernels::cpu
