// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cuda/ops.hpp>

/// The rows' functions, each written as a DeviceFn.
namespace commensal::kernels::cuda {

core::Result<void> run_gemm(const Call& call, std::span<Tensor> outputs, Device& device);
core::Result<void> run_matmul(const Call& call, std::span<Tensor> outputs, Device& device);
core::Result<void> run_conv(const Call& call, std::span<Tensor> outputs, Device& device);
core::Result<void> run_softmax(const Call& call, std::span<Tensor> outputs, Device& device);
core::Result<void> run_layer_norm(const Call& call, std::span<Tensor> outputs, Device& device);
core::Result<void> run_instance_norm(const Call& call, std::span<Tensor> outputs, Device& device);

}  // namespace commensal::kernels::cuda
