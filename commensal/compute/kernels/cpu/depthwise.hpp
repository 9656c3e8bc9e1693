// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/infer/conv.hpp>

namespace commensal::kernels::cpu {

/// A convolution in which every output plane reads one input plane. Precondition: binary32, one or
/// two spatial dimensions, and finite weights where there is padding. Error: kResourceExhausted.
core::Result<void> depthwise(const infer::Conv& conv, const Call& call, Tensor& output,
                             Workspace& ws);

}  // namespace commensal::kernels::cpu
