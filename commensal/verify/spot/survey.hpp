// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/verify/arbiter/facts.hpp>
#include <commensal/verify/receipt/roots.hpp>

/// What of a model's step can be opened, and what that takes. Both sides of a sublinear audit make
/// it for themselves.
namespace commensal::spot {

using arbiter::TensorFacts;
using core::Digest;

/// A model as it is audited: its roots, and those of its weights. Immutable, shared.
struct AuditModel {
  std::shared_ptr<const graph::Graph> graph;
  receipt::ModelLeaves leaves;
  receipt::ModelRoots roots;
  std::map<graph::ValueId, TensorFacts> weights;

  /// Hashes all weights.
  static std::shared_ptr<const AuditModel> of(std::shared_ptr<const graph::Graph> graph);
};

/// How a node's outputs can be checked from openings.
enum class Check : std::uint8_t {
  kNone,     // by replay only: control flow, texts, shapes that depend on data
  kElement,  // one element from what it reads: dot products, other folds
  kLeaf,     // a leaf of elements, each from few others: elementwise operators, copies
};

struct Spot {
  Check check = Check::kNone;
  bool is_product = false;  // fused multiply-add chains, where the work is
  bool is_large = false;    // a matrix product that a vector can check at a fraction of its cost
  std::uint64_t work = 0;   // multiply-adds, or steps, of all outputs
  std::uint64_t elements = 0, leaves = 0;  // of all outputs
  std::uint64_t opened = 0;  // leaves to open for one check of it, weights not among them
};

/// Of one model and one combination of input types. Immutable; makes stand-ins for tensors only
/// while it is made. Thread-safety: any thread.
struct Survey {
  graph::optimise::Known known;
  std::vector<Spot> nodes;  // by node
  std::uint64_t work = 0;   // of all nodes
  std::uint64_t input_bytes = 0, weight_bytes = 0;

  /// Error: kInvalidArgument if the graph refuses inputs of these types.
  static core::Result<std::shared_ptr<const Survey>> of(const graph::Graph& graph,
                                                        std::span<const tensor::TensorType> inputs);
};

/// Multiply-adds of one element of a product, or steps of any other.
std::uint64_t steps_of(const kernels::Operator& op, const kernels::Call& call,
                       std::int64_t element);

}  // namespace commensal::spot
