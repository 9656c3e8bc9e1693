// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/layout.hpp>
#include <commensal/compute/graph/optimise/match.hpp>
#include <numeric>

namespace commensal::graph::optimise {

using kernels::cpu::kBlock;
using tensor::Shape;
using tensor::Tensor;

std::vector<BlockedLayout::Channel> BlockedLayout::channels_of(ValueId id, const Node& like) {
  const auto noted = channels_.find(id);
  if (noted != channels_.end()) return noted->second;
  const ValueId blocked = need_blocked(id, like);
  std::vector<Channel> channels;
  for (std::int64_t c = 0; c < rewriter_.type(id)->shape[1]; ++c) channels.push_back({blocked, c});
  return channels;
}

void BlockedLayout::note_channels(ValueId id, std::vector<Channel> channels) {
  channels_[id] = std::move(channels);
  lacking_plain_.insert(id);
}

Node BlockedLayout::gathered(const std::vector<Channel>& channels, const Node& like) const {
  std::vector<ValueId> inputs;
  std::vector<std::int64_t> sources, places;
  for (const Channel& channel : channels) {
    auto found = std::ranges::find(inputs, channel.blocked);
    if (found == inputs.end()) found = inputs.insert(inputs.end(), channel.blocked);
    sources.push_back(found - inputs.begin());
    places.push_back(channel.channel);
  }
  Node node = internal_node(Role::kBlockedChannels, like, std::move(inputs));
  node.attributes.set("sources", std::move(sources));
  node.attributes.set("channels", std::move(places));
  return node;
}

bool BlockedLayout::concat(const Node& node) {
  const auto axis = node.attributes.integer("axis", 1);
  if (!axis || (*axis != 1 && *axis != -3) || !is_picture(node.outputs[0])) return false;
  bool any = false, aligned = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!is_picture(id)) return false;
    any = any || is_blocked(id);
    const bool is_last = i + 1 == node.inputs.size();
    aligned = aligned && (is_last || rewriter_.type(id)->shape[1] % kBlock == 0);
  }
  if (!any) return false;
  if (aligned) {
    Node made = node;
    made.attributes.set("axis", std::int64_t{1});
    for (ValueId& id : made.inputs) id = need_blocked(id, node);
    emit_blocked(std::move(made), node);
    return true;
  }
  std::vector<Channel> all;
  for (const ValueId id : node.inputs) {
    const auto some = channels_of(id, node);
    all.insert(all.end(), some.begin(), some.end());
  }
  note_channels(node.outputs[0], std::move(all));
  return true;
}

/// [N, C, H, W] to [N, G, C / G, H, W], the middle two exchanged, and back: the nodes before this
/// one stay behind, and nobody reads them any more.
bool BlockedLayout::reshape(const Node& node) {
  const auto exchange = rewriter_.producer(node.inputs[0]);
  if (!exchange || !is(rewriter_.node(*exchange), Role::kTranspose)) return false;
  const Node& transpose = rewriter_.node(*exchange);
  const auto order = transpose.attributes.integers("perm");
  const auto first = rewriter_.producer(transpose.inputs[0]);
  if (!order || *order != std::vector<std::int64_t>{0, 2, 1, 3, 4} || !first) return false;
  const Node& split = rewriter_.node(*first);
  const ValueId x = split.inputs[0], y = node.outputs[0];
  if (!is(split, Role::kReshape) || !is_picture(x) || !is_blocked(x) || !is_picture(y) ||
      rewriter_.type(split.outputs[0]) == nullptr) {
    return false;
  }
  const Shape& shape = rewriter_.type(x)->shape;
  const Shape& groups = rewriter_.type(split.outputs[0])->shape;
  if (rewriter_.type(y)->shape != shape || groups.rank() != 5 || groups[0] != shape[0] ||
      groups[3] != shape[2] || groups[4] != shape[3]) {
    return false;
  }
  const auto from = channels_of(x, node);
  std::vector<Channel> to;
  for (std::int64_t c = 0; c < groups[2]; ++c) {
    for (std::int64_t g = 0; g < groups[1]; ++g) {
      to.push_back(from[static_cast<std::size_t>(g * groups[2] + c)]);
    }
  }
  note_channels(y, std::move(to));
  return true;
}

/// Of neighbouring channels.
bool BlockedLayout::slice(const Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (node.opset < 10 || node.inputs.size() < 4 || !is_picture(x) || !is_blocked(x) ||
      !is_picture(y)) {
    return false;
  }
  const auto one = [&](std::size_t input) -> std::optional<std::int64_t> {
    if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return std::nullopt;
    const auto list = rewriter_.integers(node.inputs[input]);
    return list && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
  };
  const auto start = one(1), axis = one(3);
  const bool steps = node.inputs.size() > 4 && node.inputs[4] != kAbsent && one(4) != 1;
  if (!start || !axis || (*axis != 1 && *axis != -3) || steps) return false;
  const auto from = channels_of(x, node);
  const auto all = static_cast<std::int64_t>(from.size());
  const std::int64_t begin = std::clamp<std::int64_t>(*start < 0 ? *start + all : *start, 0, all);
  const std::int64_t end = begin + rewriter_.type(y)->shape[1];
  note_channels(y, {from.begin() + begin, from.begin() + end});
  return true;
}

}  // namespace commensal::graph::optimise
