// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/infer/checks.hpp>
#include <commensal/compute/kernels/infer/places.hpp>
#include <commensal/compute/kernels/ref/value.hpp>

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
    COMMENSAL_ASSIGN(const auto axes, infer::axes_of(given, f.from.rank()));
    f.kept = f.folded = f.from;
    std::vector<std::int64_t> to;
    for (int d = 0; d < f.from.rank(); ++d) {
      const bool reduced = std::ranges::find(axes, d) != axes.end();
      COMMENSAL_ASSIGN(f.kept, infer::with_dim(f.kept, d, reduced ? 1 : f.from[d]));
      COMMENSAL_ASSIGN(f.folded, infer::with_dim(f.folded, d, reduced ? f.from[d] : 1));
      if (!reduced || keep_dims) to.push_back(reduced ? 1 : f.from[d]);
    }
    COMMENSAL_ASSIGN(f.to, Shape::of(to));
    return f;
  }

  std::int64_t count() const { return folded.elements(); }
  /// Calls g(position, input index) in order.
  template <class G>
  void for_each(std::int64_t index, G&& g) const {
    const infer::Dims base = infer::split(kept, index);
    for (std::int64_t i = 0; i < count(); ++i) {
      infer::Dims at = infer::split(folded, i);
      for (std::size_t d = 0; d < at.size(); ++d) at[d] += base[d];
      g(i, infer::join(from, at));
    }
  }
};

}  // namespace commensal::kernels::ref
