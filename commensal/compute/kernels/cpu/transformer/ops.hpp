// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// Internal operators for what transformers write in many of the model's.
namespace commensal::kernels::cpu {

// attention.cpp
core::Result<std::vector<TensorType>> infer_attention(const Call& call);
core::Result<void> attention(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// onnx_attention.cpp: of the model's graph
core::Result<void> onnx_attention(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// steps.cpp
/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over the last dimension, as opsets
/// before 17 write it. Inputs: x [..., n], scale [n], bias [n]. Attribute: epsilon.
core::Result<std::vector<TensorType>> infer_layer_norm_steps(const Call& call);
core::Result<void> layer_norm_steps(const Call& call, std::span<Tensor> outputs, Workspace& ws);
/// x * (erf(x / divisor) + 1) * 0.5. Attribute: divisor.
core::Result<std::vector<TensorType>> infer_gelu_steps(const Call& call);
core::Result<void> gelu_steps(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// rows_matmul.cpp: A [..., K], constant B [K, N] or (attribute transB) [N, K], constant bias [N] or
// none, residual of Y's type or none. Attributes "low" and "high" where the sums are clamped,
// "divisor" where GeluSteps is done to them.
core::Result<std::vector<TensorType>> infer_rows_matmul(const Call& call);
core::Result<std::shared_ptr<const Packed>> pack_rows_matmul(const Call& call, Isa isa);
core::Result<void> rows_matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws);

}  // namespace commensal::kernels::cpu
