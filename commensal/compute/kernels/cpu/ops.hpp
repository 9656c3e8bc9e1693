// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// What cpu/ offers to the table: fast kernels with the bits of ref/. Each handles the calls that
/// matter (binary32 first of all) and hands every other one to ref/.
namespace commensal::kernels::cpu {

// conv.cpp
core::Result<void> conv(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_conv(const Call& call, Isa isa);

// gemm.cpp
core::Result<void> gemm(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_gemm(const Call& call, Isa isa);
core::Result<void> matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_matmul(const Call& call, Isa isa);

// pool.cpp
core::Result<void> average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> global_average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// elementwise.cpp
core::Result<void> abs(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> add(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> clip(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> div(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> dropout(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> erf(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> exp(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> gelu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> hard_sigmoid(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> hard_swish(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> leaky_relu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> log(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> max(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> min(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> mul(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> neg(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> pow(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reciprocal(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> relu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sigmoid(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> softplus(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sqrt(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sub(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> tanh(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// normalise.cpp
core::Result<void> batch_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> layer_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> softmax(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// reduce.cpp
core::Result<void> reduce_mean(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_sum(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// movement.cpp
core::Result<void> concat(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> expand(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> gather(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> pad(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> slice(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> split(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws);

}  // namespace commensal::kernels::cpu
