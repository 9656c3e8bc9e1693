// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::shape_inference {

/// A ConvTranspose call, checked: X [N, C, D...], W [C, O/group, K...], B [O] or none.
struct ConvTranspose {
  TensorType to;
  Window window;  // in: of X, out: of Y
  std::int64_t batch = 0, channels = 0, out_channels = 0, group = 1;
  bool has_bias = false;
};

/// The same whatever the element types, which the caller checks but for their being one.
/// Error: kInvalidArgument.
core::Result<ConvTranspose> conv_transpose_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
