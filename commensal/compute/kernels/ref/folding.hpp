// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
    f.kept = f.folded = f.from;
    std::vector<std::int64_t> to;
    for (int d = 0; d < f.from.rank(); ++d) {
      const bool reduced = std::ranges::find(axes, d) != axes.end();
      COMMENSAL_ASSIGN(f.kept, shape_inference::with_dim(f.kept, d, reduced ? 1 : f.from[d]));
      COMMENSAL_ASSIGN(f.folded, shape_inference::with_dim(f.folded, d, reduced ? f.from[d] : 1));
      if (!reduced || keep_dims) to.push_back(reduced ? 1 : f.from[d]);
    }
    COMMENSAL_ASSIGN(f.to, Shape::of(to));
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
