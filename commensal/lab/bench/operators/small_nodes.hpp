// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/operators/measure.hpp>

/// What a node costs beside its arithmetic: nodes of a few elements, one behind the other.
namespace commensal::lab::bench::operators {

/// Whose first output can be their first input again, on a few elements, and which nothing folds or
/// fuses.
std::span<const Case> small_nodes();

/// Operators of case_table() that have none of these, as rows name theirs, and why.
std::span<const NotMeasured> not_chained();

struct NodeTime {
  std::string_view op, inputs;
  double ns = 0;
};
/// What a node more in a graph of such nodes takes of ours, on one thread, the dearest first: of
/// small_nodes() those whose operator is among `options.ops`. Errors: those of Runner and of files.
core::Result<std::vector<NodeTime>> measure_nodes(const Options& options, const core::Path& folder);

/// The dearest as a bar; none for none.
std::vector<Row> node_row(const std::vector<NodeTime>& nodes);
/// A line each of the dearest.
std::string node_text(const std::vector<NodeTime>& nodes);
std::vector<Fields> node_fields(const std::vector<NodeTime>& nodes);

}  // namespace commensal::lab::bench::operators
