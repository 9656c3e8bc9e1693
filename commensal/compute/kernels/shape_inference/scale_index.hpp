// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

namespace commensal::kernels::shape_inference {

/// Which element of the scale (input 1) and zero point (input 2) serves an element of input 0: one
/// for all, one for each position along an axis, or one for each block of positions along it.
struct ScaleIndex {
  bool single = true, blocked = false;
  std::int64_t block = 1, blocks = 1;
  AxisView view;  // where not single

  /// Error: kInvalidArgument or kUnsupported.
  static core::Result<ScaleIndex> of(const Call& call);
  std::int64_t operator()(std::int64_t index) const {
    if (single) return 0;
    const std::int64_t along = view.along(index) / block;
    if (!blocked) return along;
    return (view.outer(index) * blocks + along) * view.inner_size + view.inner(index);
  }
};

}  // namespace commensal::kernels::shape_inference
