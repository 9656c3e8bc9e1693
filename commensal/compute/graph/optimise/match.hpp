// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/rewriter.hpp>

/// Questions that passes ask of a graph when they look for a pattern.
namespace commensal::graph::optimise {

using kernels::Role;

inline bool is(const Node& node, Role role) { return node.op->role == role; }

/// The node that makes `id`, if `id` is read by one node only, once.
std::optional<std::size_t> own_producer(const Rewriter& rewriter, ValueId id);

/// The operator of that role whose first output is `id`; null if it is another one, or none.
const Node* made_by(const Rewriter& rewriter, ValueId id, Role role);

/// The only element of a binary32 constant.
std::optional<float> number(const Rewriter& rewriter, ValueId id);

/// The inputs of a node of two when one of them is such a constant: the other one, and it. Either
/// order, or only the second place.
struct WithNumber {
  ValueId value = kAbsent;
  float number = 0;
};
std::optional<WithNumber> with_number(const Rewriter& rewriter, const Node& node, bool either);

/// One of the operators that no model has.
inline const kernels::Operator* internal_operator(Role role) {
  return &kernels::operator_of(role, 1);
}

/// Such an operator in the place of `like`, with its outputs.
Node internal_node(Role role, const Node& like, std::vector<ValueId> inputs,
                   kernels::Attributes attributes = {});

}  // namespace commensal::graph::optimise
