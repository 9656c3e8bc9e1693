// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/rewriter.hpp>
#include <string_view>

/// Questions that passes ask of a graph when they look for a pattern.
namespace commensal::graph::optimise {

inline bool is_plain(const Node& node, std::string_view name) {
  return node.op->domain.empty() && node.op->name == name;
}

inline bool is_internal(const Node& node, std::string_view name) {
  return node.op->domain == "commensal" && node.op->name == name;
}

/// The node that makes `id`, if `id` is read by one node only, once.
std::optional<std::size_t> own_producer(const Rewriter& rewriter, ValueId id);

/// The model's operator `name` that makes `id`; null if it is another one, or none.
const Node* made_by(const Rewriter& rewriter, ValueId id, std::string_view name);

/// The only element of a binary32 constant.
std::optional<float> number(const Rewriter& rewriter, ValueId id);

/// The inputs of a node of two when one of them is such a constant: the other one, and it. Either
/// order, or only the second place.
struct WithNumber {
  ValueId value = kAbsent;
  float number = 0;
};
std::optional<WithNumber> with_number(const Rewriter& rewriter, const Node& node, bool either);

/// An operator of kernels::internal_table() in the place of `like`, with its outputs.
Node internal_node(std::string_view name, const Node& like, std::vector<ValueId> inputs,
                   kernels::Attributes attributes = {});

}  // namespace commensal::graph::optimise
