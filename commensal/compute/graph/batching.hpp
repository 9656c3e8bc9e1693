// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pacer.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <optional>
#include <span>
#include <string>

/// May requests be joined along axis 0 of every input, run once, and their outputs cut apart again,
/// without a changed bit? The answer is yes where row i of every output is a function of row i of
/// the inputs alone, whatever the number of rows. A rule for each operator
/// (kernels/batching/rules.hpp) looks at the node and its shapes; what has no rule may mix rows, so
/// the answer is never yes by mistake, but may be no without need.
namespace commensal::graph {

/// Empty: yes. Else one line that names the input, node or output which says no.
/// `request` has the types of one request's inputs, whose first dimensions (the rows) are equal;
/// the answer holds for any number of rows, and for requests that have the other dimensions.
std::string batching_objection(const Graph& graph, std::span<const tensor::TensorType> request);

/// The same beside other work, whose host is asked between pieces. None: it said no, and nothing
/// was found out.
std::optional<std::string> batching_objection(const Graph& graph,
                                              std::span<const tensor::TensorType> request,
                                              core::Pacer& host);

/// The same for what the graph declares: of each input the first dimension must be free and the
/// others fixed.
std::string batching_objection(const Graph& graph);

}  // namespace commensal::graph
