// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/device.hpp>
#include <commensal/compute/kernels/operator.hpp>

/// The kernels that rows name in column `cuda`: the same Calls, the same bits as ref/.
namespace commensal::kernels::cuda {

/// Fills `outputs`, which have the inferred types and lie in host memory.
/// Errors: those of Device.
using DeviceFn = core::Result<void> (*)(const Call&, std::span<Tensor> outputs, Device&);

/// What runs a call that `infer` accepted, or null: then ref/ or cpu/ serves (another type than
/// float32, more than 3 spatial dimensions, no kernel for the operator). Depends on types and
/// attributes alone.
DeviceFn kernel_for(const Operator& op, const Call& call);

}  // namespace commensal::kernels::cuda
