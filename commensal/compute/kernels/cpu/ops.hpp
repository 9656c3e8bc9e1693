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

}  // namespace commensal::kernels::cpu
