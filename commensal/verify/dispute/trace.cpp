// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <commensal/verify/dispute/tree.hpp>
#include <functional>

namespace commensal::dispute {
namespace {

// The node's place in the graph; nothing for one of a graph inside it.
std::optional<std::size_t> index_of(const graph::Graph& graph, const graph::Node& node) {
  const graph::Node* first = graph.nodes.data();
  const std::less<const graph::Node*> before;
  if (before(&node, first) || !before(&node, first + graph.nodes.size())) return std::nullopt;
  return static_cast<std::size_t>(&node - first);
}

arbiter::TensorFacts facts_of(const tensor::Tensor& tensor, kernels::ThreadPool& threads) {
  return {shaped_of(tensor.type()), crypto::merkle_root(leaf_hashes(tensor.bytes(), threads))};
}

NodeRun run_of(const kernels::Call& call, std::span<const tensor::Tensor> outputs) {
  NodeRun run;
  for (const tensor::Tensor* input : call.inputs) {
    run.inputs.push_back(input == nullptr ? tensor::Tensor() : *input);
  }
  run.outputs.assign(outputs.begin(), outputs.end());
  return run;
}

}  // namespace

arbiter::TraceLeaf Segment::leaf(std::size_t i, kernels::ThreadPool& threads) const {
  arbiter::TraceLeaf made;
  made.node = static_cast<std::uint32_t>(first + i);
  for (const tensor::Tensor& output : runs[i].outputs) {
    made.outputs.push_back(facts_of(output, threads));
  }
  return made;
}

// ---- checkpoints ------------------------------------------------------------------------

CheckpointRecorder::CheckpointRecorder(const graph::Graph& graph, const receipt::ModelLeaves& model,
                                       kernels::ThreadPool& threads, std::int64_t kept_bytes_max)
    : graph_(graph),
      model_(model),
      threads_(threads),
      values_(graph.values.size()),
      ran_(graph.nodes.size()),
      kept_bytes_left_(kept_bytes_max) {
  if (kept_bytes_max > 0) kept_.emplace();
  const auto value = [this](graph::ValueId id) -> Live& {
    return values_[static_cast<std::size_t>(id)];
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const graph::ValueId id : graph.nodes[n].inputs) {
      if (id != graph::kAbsent) value(id).last_reader = n;
    }
    for (const graph::ValueId id : graph.nodes[n].outputs) {
      if (id != graph::kAbsent) value(id).maker = value(id).last_reader = n;
    }
  }
  for (const graph::ValueId id : graph.outputs) value(id).last_reader = graph.nodes.size();
}

bool CheckpointRecorder::outlives(const Live& value) const {
  const std::uint64_t side = arbiter::segment_nodes(graph_.nodes.size());
  return value.maker / side != value.last_reader / side || value.last_reader == graph_.nodes.size();
}

void CheckpointRecorder::keep(const kernels::Call& call, std::span<const tensor::Tensor> outputs) {
  if (!kept_) return;
  for (const tensor::Tensor& output : outputs) kept_bytes_left_ -= output.type().bytes();
  if (kept_bytes_left_ < 0) return kept_.reset();
  kept_->runs.push_back(run_of(call, outputs));
}

std::optional<Segment> CheckpointRecorder::take_runs() { return std::exchange(kept_, {}); }

void CheckpointRecorder::after_node(const graph::Node& node, const kernels::Call& call,
                                    std::span<const tensor::Tensor> outputs) {
  const auto index = index_of(graph_, node);
  if (!index || ran_[*index]) {
    objection_ =
        fmt::format("node '{}' ({}) runs inside a loop or a branch", node.name, node.op->name);
    return;
  }
  ran_[*index] = true;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].dtype() == tensor::DType::kString) {
      objection_ = fmt::format("node '{}' ({}) puts out texts", node.name, node.op->name);
      return;
    }
    if (node.outputs[o] == graph::kAbsent) continue;
    Live& value = values_[static_cast<std::size_t>(node.outputs[o])];
    if (outlives(value)) value.facts = facts_of(outputs[o], threads_);
  }
  keep(call, outputs);
}

core::Result<std::vector<arbiter::CheckpointLeaf>> CheckpointRecorder::take() && {
  for (std::size_t n = 0; n < ran_.size() && objection_.empty(); ++n) {
    if (ran_[n]) continue;
    objection_ = fmt::format("node '{}' ({}) is not one of tensors", graph_.nodes[n].name,
                             graph_.nodes[n].op->name);
  }
  if (!objection_.empty()) {
    return core::fail(core::ErrorCode::kUnsupported, "no trace of this model: {}", objection_);
  }
  const std::uint64_t nodes = graph_.nodes.size();
  std::vector<arbiter::CheckpointLeaf> leaves(arbiter::segment_count(nodes));
  for (std::size_t s = 0; s < leaves.size(); ++s) {
    leaves[s].upto = arbiter::segment_first(nodes, s + 1);
  }
  for (std::size_t id = 0; id < values_.size(); ++id) {
    const Live& value = values_[id];
    if (!value.facts) continue;
    for (arbiter::CheckpointLeaf& leaf : leaves) {
      if (value.maker >= leaf.upto || value.last_reader < leaf.upto) continue;
      leaf.live.push_back({model_.number(static_cast<graph::ValueId>(id)), *value.facts});
    }
  }
  for (arbiter::CheckpointLeaf& leaf : leaves) {
    std::ranges::sort(leaf.live, {}, &arbiter::CheckpointLeaf::Entry::number);
    if (arbiter::encode(leaf).size() > limits::kDisputeLeafBytesMax) {
      return core::fail(core::ErrorCode::kUnsupported,
                        "no trace of this model: {} values live behind node {}", leaf.live.size(),
                        leaf.upto);
    }
  }
  return leaves;
}

// ---- a segment --------------------------------------------------------------------------

void SegmentCapture::after_node(const graph::Node& node, const kernels::Call& call,
                                std::span<const tensor::Tensor> outputs) {
  const auto index = index_of(graph_, node);
  if (!index || *index < made_.first || is_done()) return;
  made_.runs.push_back(run_of(call, outputs));
}

}  // namespace commensal::dispute
