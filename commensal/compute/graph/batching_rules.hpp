// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::graph {

/// One node of a trial with `rows` rows in the batch. Inputs that are not batched are the same for
/// every number of rows (only the shape that Reshape takes may differ), and their elements may be
/// read; of batched ones only the type means something.
struct Trial {
  const Node& node;
  const kernels::Call& call;  // with the types of the outputs
  std::vector<bool> batched;  // by input
  std::vector<bool> is_rows;  // by element of Reshape's shape: the number of rows, nothing else
  std::int64_t rows = 0;

  bool has(int i) const { return call.has(i); }
  bool is_batched(int i) const { return batched[static_cast<std::size_t>(i)]; }
  const tensor::Shape& shape(int i) const { return call.in(i).shape(); }
};

/// Why the node may mix rows; empty where row i of every output depends on row i of the batched
/// inputs only. That the outputs have as many rows is for the caller to check.
using BatchRule = std::string (*)(const Trial&);

/// Null: there is no rule, so the operator may mix rows.
BatchRule batch_rule(const kernels::Operator& op);

}  // namespace commensal::graph
