// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

namespace commensal::kernels::cpu {

/// Whether every output plane reads one input plane, in a way that `depthwise` is made for.
bool suits_depthwise(const shape_inference::Conv& conv);

/// `layout`: of the window. Precondition: suits_depthwise, binary32, and finite weights where there
/// is padding. Error: kResourceExhausted.
core::Result<void> depthwise(const shape_inference::Conv& conv, const TapLayout& layout,
                             const Call& call, Tensor& output, Workspace& ws);

}  // namespace commensal::kernels::cpu
