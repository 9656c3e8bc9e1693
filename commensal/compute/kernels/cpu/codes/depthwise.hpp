// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/codes/lanes.hpp>
#include <commensal/compute/kernels/infer/code_products.hpp>
#include <commensal/compute/kernels/infer/conv.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <functional>

/// Convolutions of codes with one input channel a group. Their sums are small enough to be exact in
/// binary32, so that the taps of floats (TapKernels) add them up.
namespace commensal::kernels::cpu {

bool suits_code_depthwise(const infer::Conv& conv);

/// `finish(image, out channel)` is that of one plane; where its sums are is filled in.
/// Error: kResourceExhausted.
core::Result<void> code_depthwise(
    const Call& call, const infer::CodeRoles& roles, const infer::CodeConv& codes,
    const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish, Workspace& ws);

}  // namespace commensal::kernels::cpu
