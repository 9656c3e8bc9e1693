// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// Conv of 16-bit floats on blocked pictures: they are widened on their way into blocks of
/// channels, and rounded on their way out.
namespace commensal::kernels::cpu {

/// Null where there is no such form of the weights. `call`: as of a row's `pack`.
core::Result<std::shared_ptr<const Packed>> pack_half_conv(const Call& call, Isa isa);
/// ws.packed is of pack_half_conv. False: it does not serve this window, and left the output alone.
core::Result<bool> half_conv(const Call& call, Tensor& output, Workspace& ws);

}  // namespace commensal::kernels::cpu
