// SPDX-License-Identifier: Apache-2.0
// Pictures in blocks of channels (kernels/cpu/blocked/layout.hpp): convolutions and what can follow
// them without coming back to [N, C, H, W].
#include <algorithm>
#include <commensal/compute/graph/optimise/passes.hpp>
#include <commensal/compute/kernels/cpu/blocked/layout.hpp>
#include <commensal/compute/kernels/cpu/blocked/plan.hpp>
#include <commensal/compute/kernels/internal.hpp>
#include <map>
#include <set>

namespace commensal::graph::optimise {

using kernels::cpu::blocks_of;
using kernels::cpu::kBlock;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using tensor::TensorType;

namespace {

class Layout {
 public:
  explicit Layout(Rewriter& rewriter) : rewriter_(rewriter) {}

  void run() {
    for (std::size_t i = 0; i < rewriter_.size(); ++i) {
      const Node& node = rewriter_.node(i);
      const auto handler = std::ranges::find(kHandlers, node.op->name, &Handler::name);
      const bool known = node.op->domain.empty() && handler != std::end(kHandlers);
      if (!known || !(this->*handler->handle)(node)) keep(node);
    }
    for (const ValueId id : rewriter_.graph().outputs) need_plain(id);
    rewriter_.set_nodes(std::move(nodes_));
  }

 private:
  struct Handler {
    std::string_view name;
    bool (Layout::*handle)(const Node&);  // false: nothing was done
  };
  static const Handler kHandlers[19];

  // What is asked of values.

  bool is_picture(ValueId id) const {
    const TensorType* type = rewriter_.type(id);
    return type != nullptr && type->dtype == DType::kFloat32 && type->shape.rank() == 4 &&
           type->shape.elements() > 0;
  }
  bool is_blocked(ValueId id) const { return blocked_.contains(id); }
  TensorType blocked_type(ValueId id) const {
    const Shape& s = rewriter_.type(id)->shape;
    return {DType::kFloat32, {s[0], blocks_of(s[1]), s[2], s[3], kBlock}};
  }

  // What is written.

  Node internal(std::string_view op, const Node& like, std::vector<ValueId> inputs) const {
    Node node;
    node.name = like.name;
    node.op = &kernels::internal_operator(op);
    node.opset = like.opset;
    node.attributes = like.attributes;
    node.inputs = std::move(inputs);
    return node;
  }
  /// The node's output is a picture in blocks from now on.
  void emit_blocked(Node node, const Node& like) {
    const ValueId id = like.outputs[0];
    const ValueId made =
        rewriter_.add_value(rewriter_.graph().name_of(id) + " (blocked)", blocked_type(id));
    node.outputs = {made};
    nodes_.push_back(std::move(node));
    blocked_[id] = made;
    lacking_plain_.insert(id);
  }

  /// The value in blocks; copied into them if need be.
  ValueId need_blocked(ValueId id, const Node& like) {
    const auto found = blocked_.find(id);
    if (found != blocked_.end()) return found->second;
    Node node = internal("ToBlocked", like, {id});
    node.attributes = {};
    const ValueId made =
        rewriter_.add_value(rewriter_.graph().name_of(id) + " (blocked)", blocked_type(id));
    node.outputs = {made};
    nodes_.push_back(std::move(node));
    return blocked_[id] = made;
  }
  void need_plain(ValueId id) {
    if (id == kAbsent || lacking_plain_.erase(id) == 0) return;
    Node node;
    node.name = rewriter_.graph().name_of(id);
    node.op = &kernels::internal_operator("FromBlocked");
    node.attributes.set("channels", rewriter_.type(id)->shape[1]);
    node.inputs = {blocked_[id]};
    node.outputs = {id};
    nodes_.push_back(std::move(node));
  }
  void keep(const Node& node) {
    for (const ValueId id : node.inputs) need_plain(id);
    for (const Subgraph& subgraph : node.subgraphs) {
      for (const ValueId id : subgraph.captures) need_plain(id);
    }
    nodes_.push_back(node);
  }

  // The operators.

  bool conv(const Node& node);
  bool each(const Node& node);       // of one picture
  bool binary(const Node& node);     // of two, or of one and an element a channel
  bool normalise(const Node& node);  // BatchNormalization
  bool concat(const Node& node);
  bool max_pool(const Node& node) { return pool(node, "BlockedMaxPool"); }
  bool average_pool(const Node& node) { return pool(node, "BlockedAveragePool"); }
  bool global_pool(const Node& node) { return pool(node, "BlockedGlobalAveragePool"); }
  bool pool(const Node& node, std::string_view name);
  bool reduce_mean(const Node& node);  // over pixels
  bool transpose(const Node& node);

  /// One element for each channel, as [N or 1, blocks, 1, 1, 16]; none if it is not that.
  std::optional<ValueId> per_channel(ValueId id, const Shape& picture, const Node& like);
  /// Everything but the first input is the same for all elements.
  bool others_are_constant(const Node& node) const {
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) {
      return id == kAbsent || rewriter_.constant(id) != nullptr;
    });
  }

  Rewriter& rewriter_;
  std::vector<Node> nodes_;
  std::map<ValueId, ValueId> blocked_;
  std::set<ValueId> lacking_plain_;  // in blocks only
};

const Layout::Handler Layout::kHandlers[19] = {
    {"Add", &Layout::binary},
    {"AveragePool", &Layout::average_pool},
    {"BatchNormalization", &Layout::normalise},
    {"Clip", &Layout::each},
    {"Concat", &Layout::concat},
    {"Conv", &Layout::conv},
    {"Div", &Layout::binary},
    {"GlobalAveragePool", &Layout::global_pool},
    {"HardSigmoid", &Layout::each},
    {"HardSwish", &Layout::each},
    {"LeakyRelu", &Layout::each},
    {"MaxPool", &Layout::max_pool},
    {"Mul", &Layout::binary},
    {"ReduceMean", &Layout::reduce_mean},
    {"Relu", &Layout::each},
    {"Sigmoid", &Layout::each},
    {"Sub", &Layout::binary},
    {"Tanh", &Layout::each},
    {"Transpose", &Layout::transpose},
};

bool Layout::conv(const Node& node) {
  const ValueId x = node.inputs[0];
  if (!is_picture(x) || !is_picture(node.outputs[0])) return false;
  std::vector<const Tensor*> inputs;
  const Tensor stand_in = Tensor::view_of(
      *rewriter_.type(x),
      core::ByteView(static_cast<const std::uint8_t*>(nullptr),
                     static_cast<std::size_t>(rewriter_.type(x)->bytes())),
      nullptr);
  inputs.push_back(&stand_in);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    inputs.push_back(rewriter_.constant(node.inputs[i]));
    if (node.inputs[i] != kAbsent && inputs.back() == nullptr) return false;
  }
  kernels::Call call;
  call.opset = node.opset;
  call.attributes = &node.attributes;
  call.inputs = inputs;
  const auto plan = kernels::cpu::plan_blocked_conv(call);
  if (!plan) return false;
  const bool from_picture = plan->from_picture && !is_blocked(x);
  std::vector<ValueId> made_of = node.inputs;
  if (!from_picture) made_of[0] = need_blocked(x, node);
  Node made = internal("BlockedConv", node, std::move(made_of));
  made.attributes.set("way", plan->way);
  made.attributes.set("winograd_tile", plan->winograd_tile);
  if (from_picture) made.attributes.set("picture", std::int64_t{1});
  emit_blocked(std::move(made), node);
  return true;
}

bool Layout::each(const Node& node) {
  const ValueId x = node.inputs[0];
  if (!is_picture(x) || !is_blocked(x) || !others_are_constant(node)) return false;
  Node made = node;
  made.inputs[0] = blocked_[x];
  emit_blocked(std::move(made), node);
  return true;
}

std::optional<ValueId> Layout::per_channel(ValueId id, const Shape& picture, const Node& like) {
  const TensorType* type = rewriter_.type(id);
  if (type == nullptr || type->dtype != DType::kFloat32) return std::nullopt;
  const Shape& shape = type->shape;
  const std::int64_t channels = picture[1];
  if (shape.rank() == 4 && is_blocked(id) && shape[2] == 1 && shape[3] == 1 &&
      shape[1] == channels && (shape[0] == 1 || shape[0] == picture[0])) {
    return blocked_[id];
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

bool Layout::binary(const Node& node) {
  const ValueId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  if (node.opset < 7 || !is_picture(y)) return false;
  const Shape& shape = rewriter_.type(y)->shape;
  const auto whole = [&](ValueId id) {
    return is_picture(id) && rewriter_.type(id)->shape == shape;
  };
  if (whole(a) && whole(b)) {
    if (!is_blocked(a) && !is_blocked(b)) return false;
    Node made = node;
    made.inputs = {need_blocked(a, node), need_blocked(b, node)};
    emit_blocked(std::move(made), node);
    return true;
  }
  const bool commutes = node.op->name == "Add" || node.op->name == "Mul";
  for (const bool swapped : {false, true}) {
    const ValueId x = swapped ? b : a, other = swapped ? a : b;
    if ((swapped && !commutes) || !whole(x) || !is_blocked(x)) continue;
    const auto lanes = per_channel(other, shape, node);
    if (!lanes) continue;
    Node made = internal("BlockedBinary", node, {blocked_[x], *lanes});
    made.attributes = {};
    made.attributes.set("operator", std::string(node.op->name));
    emit_blocked(std::move(made), node);
    return true;
  }
  return false;
}

bool Layout::normalise(const Node& node) {
  const ValueId x = node.inputs[0];
  const auto training = node.attributes.integer("training_mode", 0);
  if (!is_picture(x) || !is_blocked(x) || node.outputs.size() != 1 || !others_are_constant(node) ||
      node.opset < 9 || !training || *training != 0) {
    return false;
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (rewriter_.constant(node.inputs[i])->dtype() != DType::kFloat32) return false;
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = blocked_[x];
  emit_blocked(internal("BlockedNormalise", node, std::move(inputs)), node);
  return true;
}

bool Layout::concat(const Node& node) {
  const auto axis = node.attributes.integer("axis", 1);
  if (!axis || (*axis != 1 && *axis != -3) || !is_picture(node.outputs[0])) return false;
  bool any = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!is_picture(id)) return false;
    any = any || is_blocked(id);
    // Only the last may end within a block.
    if (i + 1 < node.inputs.size() && rewriter_.type(id)->shape[1] % kBlock != 0) return false;
  }
  if (!any) return false;
  Node made = node;
  made.attributes.set("axis", std::int64_t{1});
  for (ValueId& id : made.inputs) id = need_blocked(id, node);
  emit_blocked(std::move(made), node);
  return true;
}

bool Layout::pool(const Node& node, std::string_view name) {
  const ValueId x = node.inputs[0];
  if (!is_picture(x) || !is_blocked(x) || node.outputs.size() != 1) return false;
  if (!is_picture(node.outputs[0])) return false;
  emit_blocked(internal(name, node, {blocked_[x]}), node);
  return true;
}

/// The same sum as a GlobalAveragePool's, divided by the same count.
bool Layout::reduce_mean(const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (!is_picture(x) || !is_blocked(x) || rewriter_.type(y) == nullptr) return false;
  std::vector<std::int64_t> axes;
  if (node.opset < 18) {
    const auto given = node.attributes.integers("axes");
    if (given) axes = *given;
  } else if (node.inputs.size() > 1 && rewriter_.constant(node.inputs[1]) != nullptr) {
    const auto given = rewriter_.constant(node.inputs[1])->data<std::int64_t>();
    axes.assign(given.begin(), given.end());
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{2, 3}) return false;
  Node mean = internal("BlockedGlobalAveragePool", node, {blocked_[x]});
  mean.attributes = {};
  if (is_picture(y)) {
    emit_blocked(std::move(mean), node);
    return true;
  }
  const Shape& shape = rewriter_.type(x)->shape;
  const std::string& name = rewriter_.graph().name_of(y);
  mean.outputs = {rewriter_.add_value(
      name + " (blocked)", {DType::kFloat32, {shape[0], blocks_of(shape[1]), 1, 1, kBlock}})};
  Node plain = internal("FromBlocked", node, mean.outputs);
  plain.attributes = {};
  plain.attributes.set("channels", shape[1]);
  plain.attributes.set("flat", std::int64_t{1});
  plain.outputs = node.outputs;
  nodes_.push_back(std::move(mean));
  nodes_.push_back(std::move(plain));
  return true;
}

/// To and from [N, H, W, C].
bool Layout::transpose(const Node& node) {
  using Order = std::vector<std::int64_t>;
  const auto order = node.attributes.integers("perm");
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (!order || !is_picture(x) || !is_picture(y)) return false;
  if (*order == Order{0, 2, 3, 1} && is_blocked(x)) {
    Node made = internal("BlockedToLast", node, {blocked_[x]});
    made.attributes = {};
    made.attributes.set("channels", rewriter_.type(x)->shape[1]);
    made.outputs = node.outputs;
    nodes_.push_back(std::move(made));
    return true;
  }
  if (*order != Order{0, 3, 1, 2}) return false;
  need_plain(x);
  emit_blocked(internal("LastToBlocked", node, {x}), node);
  return true;
}

}  // namespace

void block_channels(Rewriter& rewriter) { Layout(rewriter).run(); }

}  // namespace commensal::graph::optimise
