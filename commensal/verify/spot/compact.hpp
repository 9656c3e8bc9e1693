// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/verify/spot/marks.hpp>
#include <functional>

namespace commensal::spot {

/// Whether element i of the one output depends on elements i of the inputs alone, whatever stands
/// beside them: inputs have the output's shape, or one element, and the operator's rows do not
/// meet in batches. `call` has its outputs' types.
bool is_compact(const graph::Node& node, const kernels::Call& call);

/// Wanted elements of such an output, all at once: the judge runs on tensors of nothing else. Calls
/// put(index, bits) for each. Error: where the judge refuses them so; then nothing was put.
core::Result<void> run_compact(const graph::Node& node, const kernels::Call& call,
                               const Marks& wanted,
                               const std::function<void(std::int64_t, std::uint64_t)>& put);

}  // namespace commensal::spot
