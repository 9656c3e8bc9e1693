// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/rewriter.hpp>
#include <optional>
#include <vector>

namespace commensal::graph::optimise {

/// A value as elements of another one: element `at` of `dims` is element from + sum of
/// at[d] * strides[d] of `base`.
struct View {
  ValueId base = kAbsent;
  std::int64_t from = 0;
  std::vector<std::int64_t> dims, strides;
};

/// The value as a view of the first value that it can be one of, back through operators that only
/// move elements (Reshape and its like, Transpose, Slice, Split, Gather of one entry); at worst of
/// itself. Its type must be known.
View view_of(const Rewriter& rewriter, ValueId id);

/// The same elements in order under other dimensions; none where strides cannot say so.
std::optional<View> reshaped(const View& view, const std::vector<std::int64_t>& dims);

/// Under more dimensions, numpy's rule: what is repeated has stride 0. None if it does not fit.
std::optional<View> broadcast_to(const View& view, const std::vector<std::int64_t>& dims);

/// Dimension d is the view's `order[d]`.
View transposed(const View& view, const std::vector<std::int64_t>& order);

}  // namespace commensal::graph::optimise
