// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/quantized_products.hpp>
#include <functional>

/// Convolutions of codes with one input channel a group: each plane of outputs on its own. A word
/// has neighbouring taps of one row instead of channels.
namespace commensal::kernels::cpu {

/// `finish(image, out channel)` is that of one plane; sums and zero points are filled in.
/// Precondition: one channel a group, and TapLayout suits the window. Error: kResourceExhausted.
core::Result<void> code_depthwise(
    const Call& call, const shape_inference::CodeRoles& roles,
    const shape_inference::CodeConv& codes,
    const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish, Workspace& ws);

}  // namespace commensal::kernels::cpu
