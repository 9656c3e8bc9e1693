// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/graph/optimise/match.hpp>

namespace commensal::graph::optimise {

std::optional<std::size_t> own_producer(const Rewriter& rewriter, ValueId id) {
  return rewriter.only_user(id) ? rewriter.producer(id) : std::nullopt;
}

const Node* made_by(const Rewriter& rewriter, ValueId id, Role role) {
  const auto index = rewriter.producer(id);
  if (!index) return nullptr;
  const Node& node = rewriter.node(*index);
  return is(node, role) && node.outputs[0] == id ? &node : nullptr;
}

std::optional<float> number(const Rewriter& rewriter, ValueId id) {
  const tensor::Tensor* constant = rewriter.constant(id);
  if (constant == nullptr || constant->dtype() != tensor::DType::kFloat32 ||
      constant->elements() != 1) {
    return std::nullopt;
  }
  return constant->data<float>()[0];
}

std::optional<WithNumber> with_number(const Rewriter& rewriter, const Node& node, bool either) {
  if (node.inputs.size() != 2 || node.opset < 7) return std::nullopt;
  for (const std::size_t place : {1, 0}) {
    if (place == 0 && !either) break;
    const auto found = number(rewriter, node.inputs[place]);
    if (found) return WithNumber{node.inputs[1 - place], *found};
  }
  return std::nullopt;
}

Node internal_node(Role role, const Node& like, std::vector<ValueId> inputs,
                   kernels::Attributes attributes) {
  Node node;
  node.name = like.name;
  node.op = internal_operator(role);
  node.opset = like.opset;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.outputs = like.outputs;
  return node;
}

}  // namespace commensal::graph::optimise
