// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/codes/lanes.hpp>
#include <commensal/compute/kernels/infer/code_products.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <functional>

/// Convolutions of codes with one input channel a group: each plane of outputs on its own. A word
/// has neighbouring taps of one row instead of channels.
namespace commensal::kernels::cpu {

/// `finish(image, out channel)` is that of one plane; sums and zero points are filled in.
/// Precondition: one channel a group, and TapLayout suits the window. Error: kResourceExhausted.
core::Result<void> code_depthwise(
    const Call& call, const infer::CodeRoles& roles, const infer::CodeConv& codes,
    const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish, Workspace& ws);

}  // namespace commensal::kernels::cpu
