// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/fold_rows.hpp>

namespace commensal::kernels::ref {

FoldLayout::FoldLayout(const Folding& folding) {
  struct Both : Dim {
    bool folded;
  };
  // Neighbours of a kind are one dimension.
  std::vector<Both> dims;
  std::int64_t stride = 1;
  for (int d = folding.from.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = folding.from[d];
    if (extent == 1) continue;
    const bool folded = folding.folded[d] > 1;
    if (!dims.empty() && dims.back().folded == folded) {
      dims.back().extent *= extent;
    } else {
      dims.push_back({{extent, stride}, folded});
    }
    stride *= extent;
  }
  std::vector<Dim> folded;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i == 0) {
      (dims[i].folded ? run_ : inner_) = dims[i].extent;
    } else {
      (dims[i].folded ? folded : outer_).push_back(dims[i]);
    }
  }
  runs_ = {0};
  for (const Dim& dim : folded) {  // the innermost first
    std::vector<std::int64_t> all;
    all.reserve(runs_.size() * static_cast<std::size_t>(dim.extent));
    for (std::int64_t i = 0; i < dim.extent; ++i) {
      for (const std::int64_t run : runs_) all.push_back(i * dim.stride + run);
    }
    runs_ = std::move(all);
  }
}

bool FoldLayout::suits(const Folding& folding) {
  constexpr std::int64_t kRunsMax = 1 << 22;
  std::int64_t run = 1;
  for (int d = folding.from.rank() - 1; d >= 0 && (folding.kept[d] == 1); --d)
    run *= folding.from[d];
  return folding.count() / run <= kRunsMax;
}

std::int64_t FoldLayout::base(std::int64_t outer) const {
  std::int64_t at = 0;
  for (const Dim& dim : outer_) {
    at += outer % dim.extent * dim.stride;
    outer /= dim.extent;
  }
  return at;
}

}  // namespace commensal::kernels::ref
