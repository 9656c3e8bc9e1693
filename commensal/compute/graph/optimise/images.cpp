// SPDX-License-Identifier: Apache-2.0
// The beginning of a network, run image by image: there pictures are large and weights small, so
// that what one operator leaves for the next fits in a cache for one image and not for a batch.
// Where weights are larger than pictures, a batch that reads them once is better off as it is.
#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <set>

namespace commensal::graph::optimise {

using tensor::TensorType;

namespace {

class Images {
 public:
  explicit Images(Rewriter& rewriter)
      : rewriter_(rewriter), batched_(rewriter.graph().values.size()) {}

  void run() {
    if (!find_batch()) return;
    const std::size_t end = best_end();
    if (end > 1) cut(end);
  }

 private:
  bool find_batch() {
    for (const ValueId id : rewriter_.graph().inputs) {
      const TensorType* type = rewriter_.type(id);
      if (type == nullptr || type->shape.rank() == 0) return false;
      if (batch_ == 0) batch_ = type->shape[0];
      if (type->shape[0] != batch_) return false;
      batched_[static_cast<std::size_t>(id)] = true;
    }
    return batch_ > 1;
  }

  bool is_batched(ValueId id) const { return batched_[static_cast<std::size_t>(id)]; }

  bool goes_by_image(const Node& node) const {
    if (!node.subgraphs.empty() || node.outputs.size() != 1) return false;
    const TensorType* made = rewriter_.type(node.outputs[0]);
    if (made == nullptr || made->shape.rank() == 0 || made->shape[0] != batch_) return false;
    const auto axis = node.attributes.integer("axis", 0);
    const bool joins = is(node, Role::kConcat) && axis && *axis == 1;
    return std::ranges::all_of(node.inputs, [&](ValueId id) {
      if (id == kAbsent) return true;
      const bool is_plain = joins || !node.op->by_image;
      if (is_plain) return is_batched(id) && (joins || is_elementwise(node, id, *made));
      return is_batched(id) || rewriter_.constant(id) != nullptr;
    });
  }

  bool is_elementwise(const Node& node, ValueId input, const TensorType& made) const {
    const TensorType* type = rewriter_.type(input);
    return node.op->domain.empty() && node.op->kind == kernels::Kind::kElementwise &&
           type != nullptr && type->shape == made.shape;
  }

  // What a node moves for one image, in bytes, less the weights that it reads for each.
  std::int64_t gain_of(const Node& node) const {
    constexpr std::int64_t kWinogradGrowth = 4;  // of weights 3x3 as 6x6 points
    constexpr std::int64_t kCall = 150'000;      // of a call more, as long as moving so many bytes
    std::int64_t gain = bytes_of_image(node.outputs[0]) - kCall;
    const auto tile = node.attributes.integer("winograd_tile", 0);
    const bool grows = tile && *tile > 0;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent) continue;
      const tensor::Tensor* weights = rewriter_.constant(id);
      gain += weights == nullptr ? bytes_of_image(id)
                                 : -weights->type().bytes() * (grows ? kWinogradGrowth : 1);
    }
    return gain;
  }
  std::int64_t bytes_of_image(ValueId id) const { return rewriter_.type(id)->bytes() / batch_; }

  // The number of nodes from the first on that gain most.
  std::size_t best_end() {
    std::size_t best = 0;
    std::int64_t gain = 0, most = 0;
    for (std::size_t i = 0; i < rewriter_.size() && goes_by_image(rewriter_.node(i)); ++i) {
      batched_[static_cast<std::size_t>(rewriter_.node(i).outputs[0])] = true;
      gain += gain_of(rewriter_.node(i));
      if (gain <= most) continue;
      most = gain;
      best = i + 1;
    }
    return best;
  }

  // What nodes before `end` make and others read.
  std::vector<ValueId> left_by(std::size_t end) const {
    std::vector<ValueId> left;
    std::set<ValueId> read(rewriter_.graph().outputs.begin(), rewriter_.graph().outputs.end());
    for (std::size_t i = end; i < rewriter_.size(); ++i) {
      read.insert(rewriter_.node(i).inputs.begin(), rewriter_.node(i).inputs.end());
      for (const Subgraph& subgraph : rewriter_.node(i).subgraphs) {
        read.insert(subgraph.captures.begin(), subgraph.captures.end());
      }
    }
    for (std::size_t i = 0; i < end; ++i) {
      const ValueId id = rewriter_.node(i).outputs[0];
      if (read.contains(id)) left.push_back(id);
    }
    return left;
  }

  // The values keep their numbers inside the body.
  Graph body_of(std::size_t end) const {
    const Graph& all = rewriter_.graph();
    Graph body;
    body.name = "by image";
    body.values = all.values;
    body.inputs = all.inputs;
    body.outputs = left_by(end);
    body.nodes.assign(all.nodes.begin(), all.nodes.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t i = 0; i < body.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (const TensorType* type = rewriter_.type(id); type != nullptr && is_batched(id)) {
        Declared& declared = body.values[i].declared;
        declared = {type->dtype, true, {type->shape.dims().begin(), type->shape.dims().end()}, {}};
        declared.dims[0] = 1;
        declared.symbols.resize(declared.dims.size());
      }
    }
    for (const Node& node : body.nodes) {
      for (const ValueId id : node.inputs) {
        if (const auto* constant = rewriter_.constant(id)) body.initialisers.emplace(id, *constant);
      }
    }
    return body;
  }

  void cut(std::size_t end) {
    Node node;
    node.name = "by image";
    node.op = internal_operator(Role::kByImage);
    node.opset = 1;
    node.inputs = rewriter_.graph().inputs;
    node.outputs = left_by(end);
    node.subgraphs = {{"body", std::make_shared<const Graph>(body_of(end)), {}}};
    std::vector<Node> nodes = {std::move(node)};
    for (std::size_t i = end; i < rewriter_.size(); ++i) nodes.push_back(rewriter_.node(i));
    rewriter_.set_nodes(std::move(nodes));
  }

  Rewriter& rewriter_;
  std::vector<bool> batched_;  // by ValueId: has an image for each of the inputs'
  std::int64_t batch_ = 0;
};

}  // namespace

void run_by_image(Rewriter& rewriter) { Images(rewriter).run(); }

}  // namespace commensal::graph::optimise
