// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::shape_inference {

/// A Conv call, checked: X [N, C, D...], W [O, C/group, K...], B [O] or none.
/// Depends on types and attributes alone, never on data.
struct Conv {
  Window window;
  tensor::DType dtype = tensor::DType::kUndefined;
  std::int64_t batch = 0, channels = 0, out_channels = 0, group = 1;
  bool has_bias = false;
  int winograd_tile = 0;  // 4 or 2: the Winograd clause of docs/numerics.md applies; 0: direct

  std::int64_t group_channels() const { return channels / group; }  // C_group
  std::int64_t group_out_channels() const { return out_channels / group; }
  /// Steps of a direct dot product if no tap is padded: taps x C_group.
  std::int64_t depth() const { return window.taps() * group_channels(); }
};

/// Errors: kInvalidArgument or kUnsupported, one line.
core::Result<Conv> conv_of(const Call& call);

/// Which inputs of a quantised convolution are its tensors; bias -1: none.
struct ConvInputs {
  int x = 0, w = 1, bias = 2;
};
/// The same whatever the element types, which the caller checks.
core::Result<Conv> conv_of(const Call& call, const ConvInputs& inputs);
/// The type of Y.
TensorType conv_type(const Conv& conv);

}  // namespace commensal::kernels::shape_inference
