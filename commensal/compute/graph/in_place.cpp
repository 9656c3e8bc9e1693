// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/in_place.hpp>
#include <set>

namespace commensal::graph {

using kernels::Role;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// Values begin at a cache line, as those that lie alone do.
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kSmall = 4096, kAllSmall = 1 << 20;  // bytes

std::optional<TensorType> declared_type(const Graph& graph, ValueId id) {
  const auto type = graph.values[static_cast<std::size_t>(id)].declared.type();
  return type && tensor::traits(type->dtype).size > 0 ? type : std::nullopt;
}

/// Whether the output is one input after the other.
bool is_sequence(const Node& node, const TensorType& out) {
  if (node.op->role != Role::kConcat) return false;
  const auto given = node.attributes.integer("axis", 1);
  if (!given) return false;
  const auto axis = tensor::normalise_axis(*given, out.shape.rank());
  return axis && out.shape.elements(0, *axis) == 1;
}

/// Nodes make them, each once: what comes from outside lies where it lies.
bool are_made_here(const Graph& graph, const Node& concat, const std::vector<bool>& is_made) {
  std::set<ValueId> seen;
  return std::ranges::all_of(concat.inputs, [&](ValueId id) {
    const auto type = id == kAbsent ? std::nullopt : declared_type(graph, id);
    return type && is_made[static_cast<std::size_t>(id)] && seen.insert(id).second &&
           type->bytes() % kLine == 0;
  });
}

}  // namespace

InPlace::InPlace(const Graph& graph) : places_(graph.values.size()), released_(graph.nodes.size()) {
  std::vector<bool> is_made(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kAbsent) is_made[static_cast<std::size_t>(id)] = node.subgraphs.empty();
    }
  }
  // From the back: the last of those that share a beginning is the longest, and one whose output is
  // part of another comes after that other.
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const auto type =
        node.outputs.size() == 1 ? declared_type(graph, node.outputs[0]) : std::nullopt;
    if (type && is_sequence(node, *type) && are_made_here(graph, node, is_made)) plan(graph, node);
  }
  plan_small(graph, is_made);
  find_last_uses(graph);
}

/// But those that may outlive the run, each of which would keep all the memory.
void InPlace::plan_small(const Graph& graph, const std::vector<bool>& is_made) {
  std::vector<bool> escapes(graph.values.size());
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kAbsent) escapes[static_cast<std::size_t>(id)] = true;
    }
  };
  mark(graph.outputs);
  for (const Node& node : graph.nodes) {
    if (node.op->values != nullptr) mark(node.inputs);
    for (const Subgraph& subgraph : node.subgraphs) mark(subgraph.captures);
  }
  const std::size_t joint = joint_bytes_.size();
  std::int64_t end = 0;
  for (std::size_t i = 0; i < graph.values.size() && end < kAllSmall; ++i) {
    const bool may_lie_here = is_made[i] && !escapes[i] && !places_[i];
    const auto type = may_lie_here ? declared_type(graph, static_cast<ValueId>(i)) : std::nullopt;
    if (!type || type->bytes() < 1 || type->bytes() > kSmall) continue;
    places_[i] = Place{joint, end, type->bytes()};
    end += (type->bytes() + kLine - 1) / kLine * kLine;
  }
  if (end > 0) joint_bytes_.push_back(end);
  small_joint_ = joint;
  small_bytes_ = end;
}

const InPlace::Place* InPlace::place_of(ValueId id) const {
  if (id == kAbsent || !places_[static_cast<std::size_t>(id)]) return nullptr;
  return &*places_[static_cast<std::size_t>(id)];
}

/// Gives the inputs places if none has one; if all have, side by side, then that is the output's.
void InPlace::plan(const Graph& graph, const Node& concat) {
  const auto bytes = [&](ValueId id) { return declared_type(graph, id)->bytes(); };
  std::int64_t all = 0;
  for (const ValueId id : concat.inputs) all += bytes(id);
  if (all != bytes(concat.outputs[0])) return;  // as a model may have it
  std::optional<Place>& own = place(concat.outputs[0]);
  if (std::ranges::none_of(concat.inputs, [&](ValueId id) { return place_of(id); })) {
    if (!own) {
      own = Place{joint_bytes_.size(), 0, bytes(concat.outputs[0])};
      joint_bytes_.push_back(bytes(concat.outputs[0]));
    }
    own->is_joined = true;
    std::int64_t begin = own->begin;
    for (const ValueId id : concat.inputs) {
      place(id) = Place{own->joint, begin, bytes(id)};
      begin += bytes(id);
    }
    return;
  }
  const Place* const first = place_of(concat.inputs[0]);
  if (own || first == nullptr) return;
  std::int64_t begin = first->begin;
  for (const ValueId id : concat.inputs) {
    const Place* const at = place_of(id);
    if (at == nullptr || at->joint != first->joint || at->begin != begin) return;
    begin += bytes(id);
  }
  own = Place{first->joint, first->begin, bytes(concat.outputs[0]), true};
}

void InPlace::find_last_uses(const Graph& graph) {
  std::vector<bool> seen(joint_bytes_.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    for (const ValueId id : graph.nodes[i].outputs) {
      const Place* const at = place_of(id);
      if (at == nullptr || seen[at->joint]) continue;
      seen[at->joint] = true;
      released_[i].push_back(at->joint);
    }
  }
}

core::Result<void> InPlace::Memory::allocate(const Node& node, const kernels::Call& call,
                                             std::vector<Tensor>& outputs) {
  outputs.clear();
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    COMMENSAL_ASSIGN(Tensor output, allocate(node.outputs[i], call.outputs[i]));
    outputs.push_back(std::move(output));
  }
  return {};
}

const Tensor* InPlace::Memory::given(ValueId id, const TensorType& type) const {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (outputs_[i] == id && given_[i].type() == type) return &given_[i];
  }
  return nullptr;
}

core::Result<Tensor> InPlace::Memory::allocate(ValueId id, const TensorType& type) {
  const Place* const place = plan_.place_of(id);
  if (tensor::traits(type.dtype).size == 0) return Tensor();
  const bool lies_here = place != nullptr && !place->is_joined && type.bytes() == place->bytes;
  if (!lies_here) {
    const Tensor* const wanted = given(id, type);
    return wanted != nullptr ? core::Result<Tensor>(*wanted) : Tensor::allocate(arena_, type);
  }
  Tensor& joint = joints_[place->joint];
  if (!joint.defined()) {
    const std::int64_t all = plan_.joint_bytes_[place->joint];
    COMMENSAL_ASSIGN(joint, Tensor::allocate(arena_, {tensor::DType::kUint8, {all}}));
  }
  return joint.part(place->begin, type);
}

std::optional<Tensor> InPlace::Memory::joined(const Node& node, const TensorType& type,
                                              std::span<const Tensor* const> inputs) const {
  const Place* const place = plan_.place_of(node.outputs[0]);
  if (place == nullptr || !place->is_joined || !joints_[place->joint].defined()) {
    return std::nullopt;
  }
  const Tensor& joint = joints_[place->joint];
  const auto* const base = static_cast<const std::uint8_t*>(joint.place());
  std::int64_t at = place->begin;
  for (const Tensor* input : inputs) {
    if (input->place() != base + at || input->dtype() != type.dtype) return std::nullopt;
    at += input->type().bytes();
  }
  if (at != place->begin + type.bytes() || type.bytes() != place->bytes) return std::nullopt;
  return joint.part(place->begin, type);
}

}  // namespace commensal::graph
