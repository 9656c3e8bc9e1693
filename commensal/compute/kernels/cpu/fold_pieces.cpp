// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/fold_pieces.hpp>

namespace commensal::kernels::cpu {

FoldPieces::FoldPieces(const ref::Folding& folding, Isa isa)
    : layout_(folding),
      kernels_(fold_kernels_for(isa)),
      outputs_(folding.kept.elements()),
      elements_(folding.count()),
      width_(std::clamp<std::int64_t>((1 << 22) / elements_ / 16 * 16, 16, kAcross)) {}

bool FoldPieces::suit(const ref::Folding& folding) {
  if (!ref::FoldLayout::suits(folding)) return false;
  int last = folding.from.rank() - 1;
  while (last >= 0 && folding.from[last] == 1) --last;
  return last < 0 || folding.kept[last] == 1 || folding.count() <= (1 << 18);
}

void FoldPieces::fold(Pulse& pulse, Fold fold, const float* x, const Piece& piece,
                      const float* shift, float* y) const {
  const FoldKernel& kernel = kernels_.of(fold);
  if (across()) {
    kernel.columns(x + piece.base, layout_.runs().data(),
                   static_cast<std::int64_t>(layout_.runs().size()), shift, y, piece.count);
    pulse(elements_ * piece.count / 4);
    return;
  }
  std::array<float, FoldKernel::kLanes> lanes;
  bool begin = true;
  for_row(pulse, x + piece.base, [&](const float* from, std::int64_t count) {
    kernel.row(from, count, shift, begin, lanes.data());
    begin = false;
  });
  *y = kernel.total(lanes.data());
}

void FoldPieces::places(Pulse& pulse, bool largest, const float* x, const Piece& piece,
                        std::int64_t* where) const {
  const float* const from = x + piece.base;
  if (across()) {
    (largest ? kernels_.where_largest : kernels_.where_smallest)(
        from, layout_.runs().data(), static_cast<std::int64_t>(layout_.runs().size()), where,
        piece.count);
    pulse(elements_ * piece.count / 4);
    return;
  }
  float best = 0;
  fold(pulse, largest ? Fold::kMaximum : Fold::kMinimum, x, piece, nullptr, &best);
  std::int64_t at = 0;
  while (at < elements_) {
    const std::int64_t part = std::min<std::int64_t>(1 << 14, elements_ - at);
    const std::int64_t found = kernels_.find(from + at, part, best);
    at += found;
    if (found < part) break;
    pulse(part);
  }
  *where = at;
}

}  // namespace commensal::kernels::cpu
