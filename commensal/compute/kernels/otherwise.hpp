// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels {

/// By the judge's loops, where a fast kernel has ended with kResourceExhausted: it has had no room
/// for what it would have liked to have. Else, and where they would overwrite their inputs,
/// `ended`.
core::Result<void> run_otherwise(const Operator& op, core::Result<void> ended, const Call& call,
                                 std::span<Tensor> outputs, Workspace& ws);

}  // namespace commensal::kernels
