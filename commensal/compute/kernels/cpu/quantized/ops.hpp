// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// What cpu/ offers to the table for 8-bit codes; other calls go to ref/.
namespace commensal::kernels::cpu {

// conv.cpp: one or two spatial dimensions
core::Result<void> conv_integer(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_conv_integer(const Call& call, Isa isa);
core::Result<void> qlinear_conv(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_qlinear_conv(const Call& call, Isa isa);

// matmul.cpp
core::Result<void> matmul_integer(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_matmul_integer(const Call& call, Isa isa);
core::Result<void> qlinear_matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_qlinear_matmul(const Call& call, Isa isa);

// linear.cpp: between binary32 and uint8 or int8, without blocks
core::Result<void> quantize_linear(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> dequantize_linear(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> cast(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> cast_like(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> dynamic_quantize_linear(const Call& call, std::span<Tensor> outputs,
                                           Workspace& ws);

}  // namespace commensal::kernels::cpu
