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

NodeRun run_of(const kernels::Call& call, std::span<const tensor::Tensor> outputs) {
  NodeRun run;
  for (const tensor::Tensor* input : call.inputs) {
    run.inputs.push_back(input == nullptr ? tensor::Tensor() : *input);
  }
  run.outputs.assign(outputs.begin(), outputs.end());
  return run;
}

}  // namespace

arbiter::TensorFacts facts_of(const tensor::Tensor& tensor, kernels::ThreadPool& threads) {
  return {shaped_of(tensor.type()), crypto::merkle_root(leaf_hashes(tensor.bytes(), threads))};
}

arbiter::TraceLeaf Segment::leaf(std::size_t i, kernels::ThreadPool& threads) const {
  arbiter::TraceLeaf made;
  made.node = static_cast<std::uint32_t>(first + i);
  for (const tensor::Tensor& output : runs[i].outputs) {
    made.outputs.push_back(facts_of(output, threads));
  }
  return made;
}

// ---- checkpoints ------------------------------------------------------------------------

Lives::Lives(const graph::Graph& graph) : nodes_(graph.nodes.size()), lives_(graph.values.size()) {
  const auto life = [this](graph::ValueId id) -> Life& {
    return lives_[static_cast<std::size_t>(id)];
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const graph::ValueId id : graph.nodes[n].inputs) {
      if (id != graph::kAbsent) life(id).last_reader = n;
    }
    for (const graph::ValueId id : graph.nodes[n].outputs) {
      if (id != graph::kAbsent) life(id) = {true, n, n};
    }
  }
  for (const graph::ValueId id : graph.outputs) life(id).last_reader = nodes_;
}

bool Lives::outlives(graph::ValueId id) const {
  const std::uint64_t side = arbiter::segment_nodes(nodes_);
  const Life& life = at(id);
  return life.is_made &&
         (life.maker / side != life.last_reader / side || life.last_reader == nodes_);
}

bool Lives::is_live(graph::ValueId id, std::uint64_t upto) const {
  const Life& life = at(id);
  return life.is_made && life.maker < upto && life.last_reader >= upto;
}

core::Result<std::vector<arbiter::CheckpointLeaf>> Lives::leaves(
    const receipt::ModelLeaves& model,
    const std::map<graph::ValueId, arbiter::TensorFacts>& facts) const {
  std::vector<arbiter::CheckpointLeaf> leaves(arbiter::segment_count(nodes_));
  for (std::size_t s = 0; s < leaves.size(); ++s) {
    arbiter::CheckpointLeaf& leaf = leaves[s];
    leaf.upto = arbiter::segment_first(nodes_, s + 1);
    for (const auto& [id, of_value] : facts) {
      if (is_live(id, leaf.upto)) leaf.live.push_back({model.number(id), of_value});
    }
    std::ranges::sort(leaf.live, {}, &arbiter::CheckpointLeaf::Entry::number);
    if (arbiter::encode(leaf).size() > limits::kDisputeLeafBytesMax) {
      return core::fail(core::ErrorCode::kUnsupported,
                        "no trace of this model: {} values live behind node {}", leaf.live.size(),
                        leaf.upto);
    }
  }
  return leaves;
}

CheckpointRecorder::CheckpointRecorder(const graph::Graph& graph, const receipt::ModelLeaves& model,
                                       kernels::ThreadPool& threads, std::int64_t kept_bytes_max)
    : graph_(graph),
      model_(model),
      threads_(threads),
      lives_(graph),
      ran_(graph.nodes.size()),
      kept_bytes_left_(kept_bytes_max) {
  if (kept_bytes_max > 0) kept_.emplace();
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
    const graph::ValueId id = node.outputs[o];
    if (id != graph::kAbsent && lives_.outlives(id)) facts_[id] = facts_of(outputs[o], threads_);
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
  return lives_.leaves(model_, facts_);
}

// ---- a segment --------------------------------------------------------------------------

void SegmentCapture::after_node(const graph::Node& node, const kernels::Call& call,
                                std::span<const tensor::Tensor> outputs) {
  const auto index = index_of(graph_, node);
  if (!index || *index < made_.first || is_done()) return;
  made_.runs.push_back(run_of(call, outputs));
}

}  // namespace commensal::dispute
