// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/spot/cone.hpp>
#include <commensal/verify/spot/sheet.hpp>

namespace commensal::spot {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::ValueId;
using kernels::Scalar;
using tensor::Tensor;
using tensor::TensorType;

bool has_elements(const std::optional<TensorType>& type) {
  return type && type->dtype != tensor::DType::kUndefined && type->dtype != tensor::DType::kString;
}

/// One walk back and forth.
class Walk {
 public:
  Walk(const Graph& graph, std::span<const Tensor> inputs, graph::optimise::Known known,
       const ConeOptions& options)
      : graph_(graph), options_(options), known_(std::move(known)), values_(graph.values.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      at(graph.inputs[i]).there = inputs[i];
      inputs_.push_back(inputs[i]);
    }
    for (const auto& [id, tensor] : known_.constants) at(id).there = tensor;
  }

  Result<ConeValues> run(ValueId target, std::span<const std::int64_t> indices);

 private:
  struct Value {
    std::optional<Tensor> there;       // all of it
    std::optional<Sheet> part;         // the elements of `wanted`, once they are computed
    std::vector<std::int64_t> wanted;  // ascending, each once, when its node is looked at
    std::size_t settle_at = 1024;      // duplicates are thrown out whenever it has grown to this
    bool in_full = false;
  };
  Value& at(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  const std::optional<TensorType>& type(ValueId id) const {
    return known_.types[static_cast<std::size_t>(id)];
  }

  bool can_be_parted(const Node& node) const;
  bool is_dense(ValueId id) const;
  void settle(Value& value);
  void want(ValueId id, std::int64_t index);
  void want_in_full(ValueId id) {
    if (id != kAbsent && !at(id).there) at(id).in_full = true;
  }
  Result<void> look_back(std::size_t n);
  Result<void> run_in_full();
  Result<void> compute(std::size_t n);
  Result<kernels::Call> call_of(const Node& node, std::vector<const Tensor*>& inputs);

  const Graph& graph_;
  const ConeOptions& options_;
  graph::optimise::Known known_;
  std::vector<Value> values_;
  std::vector<Tensor> inputs_;
  std::vector<std::size_t> in_part_;  // nodes, in reverse order
  ConeWork work_;
};

bool Walk::can_be_parted(const Node& node) const {
  const kernels::Operator& op = *node.op;
  if (op.judge->infer == nullptr || op.judge->element == nullptr || op.judge->reads == nullptr)
    return false;
  const auto known = [&](ValueId id) { return id == kAbsent || has_elements(type(id)); };
  return std::ranges::all_of(node.inputs, known) && std::ranges::all_of(node.outputs, known);
}

bool Walk::is_dense(ValueId id) const {
  const auto& wanted = values_[static_cast<std::size_t>(id)].wanted;
  const auto elements = static_cast<double>(type(id)->shape.elements());
  return static_cast<double>(wanted.size()) > options_.share_max * elements;
}

void Walk::settle(Value& value) {
  std::ranges::sort(value.wanted);
  value.wanted.erase(std::ranges::unique(value.wanted).begin(), value.wanted.end());
  value.settle_at = std::max<std::size_t>(1024, 2 * value.wanted.size());
}

void Walk::want(ValueId id, std::int64_t index) {
  Value& value = at(id);
  if (value.there || value.in_full) return;
  value.wanted.push_back(index);
  if (value.wanted.size() < value.settle_at) return;
  settle(value);
  if (is_dense(id)) value.in_full = true;
}

/// What node n must be given, from what is wanted of it.
Result<void> Walk::look_back(std::size_t n) {
  const Node& node = graph_.nodes[n];
  bool in_full = false, is_wanted = false;
  for (const ValueId id : node.outputs) {
    if (id == kAbsent || at(id).there) continue;
    settle(at(id));
    is_wanted = is_wanted || at(id).in_full || !at(id).wanted.empty();
    in_full = in_full || at(id).in_full || (!at(id).wanted.empty() && !can_be_parted(node)) ||
              (has_elements(type(id)) && is_dense(id));
  }
  if (!is_wanted) return {};
  if (in_full) {
    for (const ValueId id : node.outputs) want_in_full(id);
    return {};
  }
  bool is_steered = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent || !steers(*node.op, static_cast<int>(i))) continue;
    want_in_full(node.inputs[i]);
    is_steered = is_steered || !at(node.inputs[i]).there;
  }
  if (is_steered) {
    COMMENSAL_TRY(run_in_full());  // what it reads depends on these elements
  }
  std::vector<const Tensor*> inputs;
  COMMENSAL_ASSIGN(const auto call, call_of(node, inputs));
  std::vector<kernels::ElementRef> read;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == kAbsent) continue;
    for (const std::int64_t index : at(node.outputs[o]).wanted) {
      read.clear();
      node.op->judge->reads(call, static_cast<int>(o), index, read);
      for (const auto& [input, element] : read) {
        want(node.inputs[static_cast<std::size_t>(input)], element);
      }
    }
  }
  in_part_.push_back(n);
  return {};
}

/// Runs all that leads to the values that are wanted in full, as a graph of its own.
Result<void> Walk::run_in_full() {
  Graph part = graph_;
  part.nodes.clear();
  part.outputs.clear();
  std::vector<bool> needed(graph_.values.size());
  for (std::size_t id = 0; id < values_.size(); ++id) {
    if (!values_[id].in_full || values_[id].there) continue;
    needed[id] = true;
    part.outputs.push_back(static_cast<ValueId>(id));
  }
  if (part.outputs.empty()) return {};
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    const auto is_needed = [&](ValueId id) {
      return id != kAbsent && needed[static_cast<std::size_t>(id)] && !at(id).there;
    };
    if (std::ranges::none_of(node->outputs, is_needed)) continue;
    const auto need = [&](ValueId id) {
      if (id != kAbsent) needed[static_cast<std::size_t>(id)] = true;
    };
    std::ranges::for_each(node->inputs, need);
    for (const graph::Subgraph& inner : node->subgraphs) {
      std::ranges::for_each(inner.captures, need);
    }
    part.nodes.push_back(*node);
  }
  std::ranges::reverse(part.nodes);
  work_.nodes_in_full += part.nodes.size();
  const std::vector<ValueId> outputs = part.outputs;
  graph::SessionOptions options;
  options.threads = options_.threads;
  options.memory_bytes_max = options_.memory_bytes_max;
  COMMENSAL_ASSIGN(auto session,
                   graph::Session::create(std::make_shared<const Graph>(std::move(part)), options));
  COMMENSAL_ASSIGN(auto made, session.run(inputs_));
  for (std::size_t o = 0; o < outputs.size(); ++o) at(outputs[o]).there = std::move(made[o]);
  return {};
}

/// With stand-ins for what is not there in full.
Result<kernels::Call> Walk::call_of(const Node& node, std::vector<const Tensor*>& inputs) {
  for (const ValueId id : node.inputs) {
    if (id == kAbsent) {
      inputs.push_back(nullptr);
      continue;
    }
    Value& value = at(id);
    if (!value.there && !value.part) {
      COMMENSAL_ASSIGN(value.part, Sheet::of(*type(id)));
    }
    inputs.push_back(value.there ? &*value.there : &value.part->tensor());
  }
  kernels::Call call;
  call.opset = node.opset;
  call.attributes = &node.attributes;
  call.inputs = inputs;
  call.output_count = static_cast<int>(node.outputs.size());
  COMMENSAL_ASSIGN(call.outputs, node.op->judge->infer(call));
  return call;
}

Result<void> Walk::compute(std::size_t n) {
  const Node& node = graph_.nodes[n];
  std::vector<const Tensor*> inputs;
  COMMENSAL_ASSIGN(const auto call, call_of(node, inputs));
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == kAbsent || at(node.outputs[o]).wanted.empty()) continue;
    Value& value = at(node.outputs[o]);
    if (value.there) continue;
    if (!value.part) {
      COMMENSAL_ASSIGN(value.part, Sheet::of(*type(node.outputs[o])));
    }
    for (const std::int64_t index : value.wanted) {
      value.part->put(index, node.op->judge->element(call, static_cast<int>(o), index).bits);
    }
    work_.elements += value.wanted.size();
  }
  ++work_.nodes_in_part;
  return {};
}

Result<ConeValues> Walk::run(ValueId target, std::span<const std::int64_t> indices) {
  if (has_elements(type(target))) {
    for (const std::int64_t index : indices) want(target, index);
    settle(at(target));
  } else {
    want_in_full(target);
  }
  for (std::size_t n = graph_.nodes.size(); n-- > 0;) COMMENSAL_TRY(look_back(n));
  COMMENSAL_TRY(run_in_full());
  for (auto n = in_part_.rbegin(); n != in_part_.rend(); ++n) COMMENSAL_TRY(compute(*n));

  const Value& found = at(target);
  ConeValues made;
  made.work = work_;
  if (indices.empty() && !found.there) {
    made.type = *type(target);
    return made;
  }
  core::check(found.there || found.part, "what is asked for was computed");
  const Tensor& tensor = found.there ? *found.there : found.part->tensor();
  made.type = tensor.type();
  for (const std::int64_t index : indices) {
    if (index >= tensor.elements()) {
      return fail(ErrorCode::kInvalidArgument, "element {} of {}", index, tensor.type().text());
    }
    made.values.push_back({tensor.dtype(), tensor::element_bits(tensor, index)});
  }
  return made;
}

}  // namespace

bool steers(const kernels::Operator& op, int input) {
  using kernels::Kind;
  if (!op.domain.empty()) return true;
  if (op.steering) return op.steering->has(static_cast<std::size_t>(input));
  return op.kind != Kind::kElementwise && op.kind != Kind::kDotProduct && input > 0;
}

Result<ConeValues> cone_values(const Graph& graph, std::span<const Tensor> inputs,
                               std::size_t output, std::span<const std::int64_t> indices,
                               const ConeOptions& options) {
  const std::vector<tensor::Value> values(inputs.begin(), inputs.end());
  COMMENSAL_TRY(graph::check_inputs(graph, values));
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  auto known = graph::optimise::known_of(graph, types);
  if (output >= graph.outputs.size() || !known) {
    return fail(ErrorCode::kInvalidArgument, "{}",
                known ? "there is no such output" : "the graph refuses inputs of these types");
  }
  const ValueId target = graph.outputs[output];
  const auto& type = known->types[static_cast<std::size_t>(target)];
  for (const std::int64_t index : indices) {
    if (index < 0 || (type && index >= type->shape.elements())) {
      return fail(ErrorCode::kInvalidArgument, "element {} of {}", index,
                  type ? type->text() : "an output");
    }
  }
  return Walk(graph, inputs, *std::move(known), options).run(target, indices);
}

}  // namespace commensal::spot
