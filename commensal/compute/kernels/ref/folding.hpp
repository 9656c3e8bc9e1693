// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

namespace commensal::kernels::ref {

/// Which input elements an output element of a reduction folds.
struct Folding {
  Shape from, kept, folded;  // kept and folded have 1 where the other has the dimension
  Shape to;
  bool identity = false;  // no axes and noop_with_empty_axes

  static core::Result<Folding> of(const Call& call, std::vector<std::int64_t> given, bool keep_dims,
                                  bool noop) {
    Folding f;
    f.from = call.in(0).shape();
    f.identity = given.empty() && noop;
    if (given.empty() && !noop) {
      for (std::int64_t d = 0; d < f.from.rank(); ++d) given.push_back(d);
    }
    COMMENSAL_ASSIGN(const auto axes, shape_inference::axes_of(given, f.from.rank()));
    std::array<std::int64_t, limits::kRankMax> kept{}, folded{}, to{};
    const auto rank = static_cast<std::size_t>(f.from.rank());
    std::size_t to_rank = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const bool reduced = std::ranges::find(axes, static_cast<int>(d)) != axes.end();
      const std::int64_t dim = f.from[static_cast<int>(d)];
      kept[d] = reduced ? 1 : dim;
      folded[d] = reduced ? dim : 1;
      if (!reduced || keep_dims) to[to_rank++] = kept[d];
    }
    COMMENSAL_ASSIGN(f.kept, Shape::of({kept.data(), rank}));
    COMMENSAL_ASSIGN(f.folded, Shape::of({folded.data(), rank}));
    COMMENSAL_ASSIGN(f.to, Shape::of({to.data(), to_rank}));
    return f;
  }

  std::int64_t count() const { return folded.elements(); }
  /// Calls g(position, input index) in order.
  template <class G>
  void for_each(std::int64_t index, G&& g) const {
    const shape_inference::Dims base = shape_inference::split(kept, index);
    for (std::int64_t i = 0; i < count(); ++i) {
      shape_inference::Dims at = shape_inference::split(folded, i);
      for (std::size_t d = 0; d < at.size(); ++d) at[d] += base[d];
      g(i, shape_inference::join(from, at));
    }
  }
};

}  // namespace commensal::kernels::ref
