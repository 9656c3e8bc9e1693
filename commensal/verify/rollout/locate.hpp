// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/compute/graph/tracer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::rollout {

/// What one operator of a step gave.
struct NodeRoot {
  std::string node;     // its name in the model
  core::Digest root{};  // over its outputs' roots, in order
  friend bool operator==(const NodeRoot&, const NodeRoot&) = default;
};

/// Lists the roots of all nodes of the model in the order in which they run, those inside loops
/// each time. Thread-safety: as Tracer.
class NodeRoots final : public graph::Tracer {
 public:
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const tensor::Tensor> outputs) override;
  const std::vector<NodeRoot>& roots() const { return roots_; }

 private:
  std::vector<NodeRoot> roots_;
};

/// The place of the first operator on which two lists differ: all that it was given was the same,
/// so that one of the two has not done it right. Nothing where they agree.
std::optional<std::size_t> first_difference(const std::vector<NodeRoot>& ours,
                                            const std::vector<NodeRoot>& theirs);

}  // namespace commensal::rollout
