// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/leaf_hashes.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <functional>

namespace commensal::dispute {
namespace {

constexpr std::size_t kLeafBytes = crypto::kMerkleLeafBytes;

// The node's place in the graph; nothing for one of a graph inside it.
std::optional<std::size_t> index_of(const graph::Graph& graph, const graph::Node& node) {
  const graph::Node* first = graph.nodes.data();
  const std::less<const graph::Node*> before;
  if (before(&node, first) || !before(&node, first + graph.nodes.size())) return std::nullopt;
  return static_cast<std::size_t>(&node - first);
}

}  // namespace

std::vector<core::Digest> leaf_hashes(core::ByteView bytes, kernels::ThreadPool& threads) {
  const std::size_t count = (bytes.size() + kLeafBytes - 1) / kLeafBytes;
  constexpr std::size_t kPiece = 64;  // leaves
  std::vector<core::Digest> hashes(count);
  const auto pieces = static_cast<std::int64_t>((count + kPiece - 1) / kPiece);
  threads.run(pieces, [&](std::int64_t piece) {
    const std::size_t first = static_cast<std::size_t>(piece) * kPiece;
    const std::size_t leaves = std::min(kPiece, count - first), begin = first * kLeafBytes;
    crypto::leaf_hashes(bytes.subspan(begin, std::min(leaves * kLeafBytes, bytes.size() - begin)),
                        std::span(hashes).subspan(first, leaves));
  });
  return hashes;
}

void TraceRecorder::after_node(const graph::Node& node, const kernels::Call&,
                               std::span<const tensor::Tensor> outputs) {
  const auto index = index_of(graph_, node);
  if (!index || leaves_[*index]) {
    objection_ =
        fmt::format("node '{}' ({}) runs inside a loop or a branch", node.name, node.op->name);
    return;
  }
  arbiter::TraceLeaf leaf{static_cast<std::uint32_t>(*index), {}};
  for (const tensor::Tensor& output : outputs) {
    if (output.dtype() == tensor::DType::kString) {
      objection_ = fmt::format("node '{}' ({}) puts out texts", node.name, node.op->name);
      return;
    }
    const auto hashes = leaf_hashes(output.bytes(), threads_);
    leaf.outputs.push_back({shaped_of(output.type()), crypto::merkle_root(hashes)});
  }
  leaves_[*index] = std::move(leaf);
}

core::Result<std::vector<arbiter::TraceLeaf>> TraceRecorder::take() && {
  std::vector<arbiter::TraceLeaf> all;
  for (std::size_t i = 0; i < leaves_.size() && objection_.empty(); ++i) {
    if (!leaves_[i]) {
      objection_ = fmt::format("node '{}' ({}) is not one of tensors", graph_.nodes[i].name,
                               graph_.nodes[i].op->name);
      break;
    }
    all.push_back(*std::move(leaves_[i]));
  }
  if (objection_.empty()) return all;
  return core::fail(core::ErrorCode::kUnsupported, "no trace of this model: {}", objection_);
}

void NodeCapture::after_node(const graph::Node& node, const kernels::Call& call,
                             std::span<const tensor::Tensor> outputs) {
  if (index_of(graph_, node) != node_) return;
  for (const tensor::Tensor* input : call.inputs) {
    inputs_.push_back(input == nullptr ? tensor::Tensor() : *input);
  }
  outputs_.assign(outputs.begin(), outputs.end());
  is_done_ = true;
}

}  // namespace commensal::dispute
