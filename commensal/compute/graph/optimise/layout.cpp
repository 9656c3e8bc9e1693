// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/layout.hpp>
#include <commensal/compute/graph/optimise/match.hpp>

namespace commensal::graph::optimise {

using kernels::cpu::blocks_of;
using kernels::cpu::kBlock;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using tensor::TensorType;

bool BlockedLayout::is_picture(ValueId id) const {
  const TensorType* type = rewriter_.type(id);
  return type != nullptr && type->dtype == DType::kFloat32 && type->shape.rank() == 4 &&
         type->shape.elements() > 0 && type->shape[1] <= limits::kPictureChannelsMax;
}

TensorType BlockedLayout::blocked_type(ValueId id) const {
  const Shape& s = rewriter_.type(id)->shape;
  return {DType::kFloat32, {s[0], blocks_of(s[1]), s[2], s[3], kBlock}};
}

void BlockedLayout::run() {
  for (std::size_t i = 0; i < rewriter_.size(); ++i) {
    const Node node = rewriter_.node(i);
    if (!handle(node)) keep(node);
  }
  for (const ValueId id : rewriter_.graph().outputs) need_plain(id);
  rewriter_.set_nodes(std::move(nodes_));
}

ValueId BlockedLayout::add_blocked_value(ValueId id) {
  const std::string name = rewriter_.graph().name_of(id) + " (blocked)";
  return rewriter_.add_value(name, blocked_type(id));
}

void BlockedLayout::emit_blocked(Node node, const Node& like) {
  const ValueId id = like.outputs[0];
  const ValueId made = add_blocked_value(id);
  node.outputs = {made};
  nodes_.push_back(std::move(node));
  blocked_[id] = made;
  lacking_plain_.insert(id);
}

ValueId BlockedLayout::need_blocked(ValueId id, const Node& like) {
  const auto found = blocked_.find(id);
  if (found != blocked_.end()) return found->second;
  const auto noted = channels_.find(id);
  Node node = noted == channels_.end() ? internal_node(Role::kToBlocked, like, {id})
                                       : gathered(noted->second, like);
  const ValueId made = add_blocked_value(id);
  node.outputs = {made};
  nodes_.push_back(std::move(node));
  return blocked_[id] = made;
}

void BlockedLayout::need_plain(ValueId id) {
  if (id == kAbsent || lacking_plain_.erase(id) == 0) return;
  Node node;
  node.name = rewriter_.graph().name_of(id);
  node.op = internal_operator(Role::kFromBlocked);
  node.attributes.set("channels", rewriter_.type(id)->shape[1]);
  node.inputs = {need_blocked(id, node)};
  node.outputs = {id};
  nodes_.push_back(std::move(node));
}

void BlockedLayout::keep(const Node& node) {
  for (const ValueId id : node.inputs) need_plain(id);
  for (const Subgraph& subgraph : node.subgraphs) {
    for (const ValueId id : subgraph.captures) need_plain(id);
  }
  nodes_.push_back(node);
}

/// Everything but the first input is the same for all elements.
bool BlockedLayout::others_are_constant(const Node& node) const {
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) {
    return id == kAbsent || rewriter_.constant(id) != nullptr;
  });
}

/// One element for each channel, as [N or 1, blocks, 1, 1, 16]; none if it is not that.
std::optional<ValueId> BlockedLayout::per_channel(ValueId id, const Shape& picture,
                                                  const Node& like) {
  const TensorType* type = rewriter_.type(id);
  if (type == nullptr || type->dtype != DType::kFloat32) return std::nullopt;
  const Shape& shape = type->shape;
  const std::int64_t channels = picture[1];
  if (shape.rank() == 4 && is_blocked(id) && shape[2] == 1 && shape[3] == 1 &&
      shape[1] == channels && (shape[0] == 1 || shape[0] == picture[0])) {
    return need_blocked(id, like);
  }
  const Tensor* constant = rewriter_.constant(id);
  const bool each = shape.rank() >= 3 && shape.rank() <= 4 && shape[shape.rank() - 3] == channels &&
                    shape.elements() == channels;
  if (constant == nullptr || (!each && shape.elements() != 1)) return std::nullopt;
  std::vector<float> lanes(static_cast<std::size_t>(blocks_of(channels) * kBlock));
  for (std::int64_t c = 0; c < channels; ++c) {
    lanes[static_cast<std::size_t>(c)] =
        constant->data<float>()[each ? static_cast<std::size_t>(c) : 0];
  }
  return rewriter_.add_constant(like.name + " (blocked)",
                                Tensor::of<float>({1, blocks_of(channels), 1, 1, kBlock}, lanes));
}

void block_channels(Rewriter& rewriter) { BlockedLayout(rewriter).run(); }

}  // namespace commensal::graph::optimise
