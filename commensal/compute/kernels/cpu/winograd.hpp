// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

namespace commensal::kernels::cpu {

/// A convolution by the Winograd clause: conv.winograd_tile is 2 or 4. Error: kResourceExhausted.
core::Result<void> winograd(const shape_inference::Conv& conv, const Call& call,
                            const ConvWeights& weights, Tensor& output, Workspace& ws);

}  // namespace commensal::kernels::cpu
