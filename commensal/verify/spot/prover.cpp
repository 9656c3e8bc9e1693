// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <commensal/verify/spot/contents.hpp>
#include <commensal/verify/spot/multiproof.hpp>
#include <commensal/verify/spot/parts.hpp>
#include <commensal/verify/spot/prover.hpp>
#include <deque>
#include <functional>
#include <set>

namespace commensal::spot {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Tensor;

std::optional<std::size_t> index_of(const graph::Graph& graph, const graph::Node& node) {
  const graph::Node* first = graph.nodes.data();
  const std::less<const graph::Node*> before;
  if (before(&node, first) || !before(&node, first + graph.nodes.size())) return std::nullopt;
  return static_cast<std::size_t>(&node - first);
}

TensorFacts facts_of(const Tensor& tensor, kernels::ThreadPool& threads) {
  return {dispute::shaped_of(tensor.type()),
          crypto::merkle_root(dispute::leaf_hashes(tensor.bytes(), threads))};
}

/// Hashes what every node puts out, as it comes.
class RootsTracer final : public graph::Tracer {
 public:
  RootsTracer(const graph::Graph& graph, kernels::ThreadPool& threads)
      : graph_(graph), threads_(threads), list_(graph.nodes.size()), ran_(graph.nodes.size()) {}

  void after_node(const graph::Node& node, const kernels::Call&,
                  std::span<const Tensor> outputs) override {
    const auto index = index_of(graph_, node);
    const bool has_texts = std::ranges::any_of(outputs, [](const Tensor& output) {
      return !output.defined() || output.dtype() == tensor::DType::kString;
    });
    if (!index || ran_[*index] || has_texts) {
      objection_ = node.name;
      return;
    }
    ran_[*index] = true;
    list_[*index].node = static_cast<std::uint32_t>(*index);
    for (const Tensor& output : outputs) {
      list_[*index].outputs.push_back(facts_of(output, threads_));
    }
  }
  Result<std::vector<arbiter::TraceLeaf>> take() && {
    const auto missing = std::ranges::find(ran_, false) - ran_.begin();
    if (objection_.empty() && missing < static_cast<std::ptrdiff_t>(ran_.size())) {
      objection_ = graph_.nodes[static_cast<std::size_t>(missing)].name;
    }
    if (objection_.empty()) return std::move(list_);
    return fail(ErrorCode::kUnsupported,
                "no operator roots of this model: node '{}' does not run once, on numbers",
                objection_);
  }

 private:
  const graph::Graph& graph_;
  kernels::ThreadPool& threads_;
  std::vector<arbiter::TraceLeaf> list_;
  std::vector<bool> ran_;
  std::string objection_;
};

/// Keeps what goes into the nodes that are asked for and comes out of them; stops behind the last.
class Capture final : public graph::Tracer, public core::Pacer {
 public:
  struct NodeRun {
    std::vector<Tensor> inputs;  // undefined: absent
    std::vector<tensor::TensorType> types;
    std::vector<Tensor> outputs;
  };
  Capture(const graph::Graph& graph, const std::vector<Question>& questions) : graph_(graph) {
    for (const Question& question : questions) left_.insert(question.node);
  }

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    const auto index = index_of(graph_, node);
    if (!index || left_.erase(*index) == 0) return;
    NodeRun& run = runs_[*index];
    for (const Tensor* input : call.inputs) {
      run.inputs.push_back(input == nullptr ? Tensor() : *input);
    }
    run.types = call.outputs;
    run.outputs.assign(outputs.begin(), outputs.end());
  }
  bool pace(std::int64_t) override { return !left_.empty(); }
  bool is_done() const { return left_.empty(); }
  const NodeRun& at(std::size_t node) const { return runs_.at(node); }

 private:
  const graph::Graph& graph_;
  std::set<std::size_t> left_;
  std::map<std::size_t, NodeRun> runs_;
};

/// The parts of one message, whose bytes it owns; a tensor that is opened twice is hashed once.
class Opener {
 public:
  explicit Opener(kernels::ThreadPool& threads) : threads_(threads) {}

  void open(const Tensor& tensor, const LeafSet& leaves) {
    const auto [found, is_new] =
        hashes_.try_emplace({tensor.bytes().data(), tensor.bytes().size()});
    if (is_new) {
      found->second = {tensor, dispute::leaf_hashes(tensor.bytes(), threads_)};
    }
    Bytes& bytes = kept_.emplace_back();
    for (const std::uint64_t leaf : leaves) {
      const std::size_t begin = leaf * crypto::kMerkleLeafBytes;
      const auto piece = tensor.bytes().subspan(
          begin, std::min(crypto::kMerkleLeafBytes, tensor.bytes().size() - begin));
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    message.parts.push_back({bytes, prove_leaves(found->second.hashes, leaves)});
  }

  Openings message;

 private:
  struct Hashed {
    Tensor tensor;  // kept alive, so that no other one gets its address
    std::vector<Digest> hashes;
  };
  kernels::ThreadPool& threads_;
  std::map<std::pair<const void*, std::size_t>, Hashed> hashes_;
  std::deque<Bytes> kept_;
};

}  // namespace

Result<Bytes> Prover::roots(ByteView bytes, std::uint64_t latest_round) {
  COMMENSAL_ASSIGN(const Request request, decode_request(bytes));
  if (request.receipt_id != protocol::receipt_id(hand_.body)) {
    return fail(ErrorCode::kFailedPrecondition, "audit request: for another receipt");
  }
  if (request_ && request != *request_) {
    return fail(ErrorCode::kFailedPrecondition, "audit request: another one was answered before");
  }
  if (request_) return roots_;
  if (request.round <= latest_round) {
    return fail(ErrorCode::kFailedPrecondition, "audit request: round {} is over, {} is the latest",
                request.round, latest_round);
  }
  RootsTracer tracer(*hand_.model->graph, threads_);
  COMMENSAL_TRY(hand_.rerun(tracer, nullptr));
  Roots roots{request.receipt_id, request.round, {}, {}, {}};
  COMMENSAL_ASSIGN(roots.list, std::move(tracer).take());
  for (const Tensor& input : hand_.inputs) roots.inputs.push_back(facts_of(input, threads_));
  const Digest root = list_root(roots.list);
  sign(roots, input_root(*hand_.model->graph, roots.inputs), root, *hand_.key);
  roots_ = encode(roots);
  list_root_ = root;
  request_ = request;
  return roots_;
}

Result<Bytes> Prover::openings(std::uint64_t round, const Digest& beacon) {
  if (!request_ || round != request_->round) {
    return fail(ErrorCode::kFailedPrecondition, "openings: round {} is not the one agreed on",
                round);
  }
  const graph::Graph& graph = *hand_.model->graph;
  const auto questions = draw(graph, *hand_.survey, request_->terms,
                              audit_seed(beacon, request_->receipt_id, list_root_));
  Capture capture(graph, questions);
  if (!capture.is_done()) {
    const auto ran = hand_.rerun(capture, &capture);
    if (!ran && !capture.is_done()) return tl::unexpected(ran.error());
  }
  Opener opener(threads_);
  opener.message.receipt_id = request_->receipt_id;
  opener.message.round = round;
  for (const Question& question : questions) {
    const graph::Node& node = graph.nodes[question.node];
    const Capture::NodeRun& run = capture.at(question.node);
    std::vector<const Tensor*> inputs;
    for (const Tensor& input : run.inputs) inputs.push_back(input.defined() ? &input : nullptr);
    const kernels::Call call{node.opset, &node.attributes, inputs,
                             static_cast<int>(node.outputs.size()), run.types, nullptr};
    const auto leaves = input_leaves(question, *node.op, call);
    for (const std::size_t i : opening_order(graph, node, request_->terms)) {
      opener.open(*inputs[i], leaves[i]);
    }
    if (question.method != Method::kWhole) {
      opener.open(run.outputs[question.output],
                  output_leaves(question, run.types[question.output]));
    }
  }
  return encode(opener.message);
}

}  // namespace commensal::spot
