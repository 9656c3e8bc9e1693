// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <span>

namespace commensal::graph {

/// Sees every node run: profiles, transcripts and disputes are made of it. A null Tracer costs
/// nothing. Thread-safety: called from the thread that runs the graph.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// Whether it asks for the nodes of the model; else it sees those that an optimised graph has in
  /// their place.
  virtual bool wants_plain_nodes() const { return true; }
  /// Whether it keeps tensors that it sees; else small ones may lie where the next run writes.
  virtual bool keeps_tensors() const { return true; }
  /// Around each run of a graph that is an attribute of `node`.
  virtual void enter(const Node& /*node*/, const Subgraph& /*graph*/) {}
  virtual void leave() {}
  virtual void before_node(const Node&, const kernels::Call&) {}
  virtual void after_node(const Node&, const kernels::Call&, std::span<const tensor::Tensor>) {}
};

}  // namespace commensal::graph
