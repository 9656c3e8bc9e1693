// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <unordered_map>

namespace commensal::receipt {

// What commitments are made of: one hash for all that a tensor, a state or a model is.
// Pure functions. Source: docs/protocol.md, "Roots".

/// dtype, shape and the Merkle root over 1 KiB leaves of the element bytes.
core::Digest tensor_root(const tensor::Tensor& tensor);
/// The last of these three, and what all of them make.
core::Digest elements_root(const tensor::Tensor& tensor);
core::Digest tensor_root(const tensor::TensorType& type, const core::Digest& elements_root);

/// The Merkle root over the tensors' names and roots, in the order given (a graph's own order).
core::Digest state_root(const tensor::NamedTensors& tensors);

/// Hashes what is large here and now, so that taken_root() need not: for the thread that has read
/// them, beside a loop that all wait for.
void take_roots(tensor::NamedTensors& tensors);
/// state_root() by the roots that were taken, for who took them. Nobody has changed the tensors
/// since.
core::Digest taken_root(const tensor::NamedTensors& tensors);

struct ModelRoots {
  core::Digest graph;    // canonical nodes, without initialisers
  core::Digest weights;  // one leaf per initialiser
  friend bool operator==(const ModelRoots&, const ModelRoots&) = default;
};

/// What the roots of a model are made of, for who proves a part of it.
struct ModelLeaves {
  std::uint64_t inputs = 0, nodes = 0, outputs = 0;  // leaves of the graph's tree, in this order
  std::vector<core::Bytes> graph;
  std::vector<core::Bytes> weights;  // number and root of an initialiser
  std::unordered_map<graph::ValueId, std::uint32_t> numbers;

  std::uint32_t number(graph::ValueId id) const {
    const auto found = numbers.find(id);
    return found == numbers.end() ? 0 : found->second;
  }
};
/// Hashes all weights.
ModelLeaves model_leaves(const graph::Graph& graph);
ModelRoots model_roots(const ModelLeaves& leaves);

/// Values are numbered by first appearance (inputs, then along the nodes), so that the roots do
/// not depend on inner names, on the order of the initialisers or on the file's encoding.
ModelRoots model_roots(const graph::Graph& graph);

}  // namespace commensal::receipt
