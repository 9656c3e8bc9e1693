// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/compute/tensor/stand_in.hpp>
#include <commensal/verify/spot/blocks.hpp>
#include <commensal/verify/spot/compact.hpp>
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

/// The operations of each node of a full run, from what is known beforehand; 0 where that is not
/// enough.
std::vector<std::int64_t> ops_of_nodes(const Graph& graph, const graph::optimise::Known& known) {
  tensor::ZeroStandIns zeros(limits::kStandInBytesMax);
  std::vector<std::int64_t> ops(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op->judge->infer == nullptr) continue;
    std::vector<Tensor> held(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size(), nullptr);
    bool is_known = true;
    for (std::size_t i = 0; i < node.inputs.size() && is_known; ++i) {
      if (node.inputs[i] == kAbsent) continue;
      const auto constant = known.constants.find(node.inputs[i]);
      const auto& type = known.types[static_cast<std::size_t>(node.inputs[i])];
      auto zero = has_elements(type) ? zeros.of(*type) : std::nullopt;
      is_known = constant != known.constants.end() || zero.has_value();
      if (zero) held[i] = *std::move(zero);
      inputs[i] = constant != known.constants.end() ? &constant->second : &held[i];
    }
    if (!is_known) continue;
    kernels::Call call;
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = inputs;
    call.output_count = static_cast<int>(node.outputs.size());
    auto types = node.op->judge->infer(call);
    if (!types) continue;
    call.outputs = *std::move(types);
    ops[n] = graph::work_of(*node.op, call).ops;
  }
  return ops;
}

/// One walk back and forth.
class Walk {
 public:
  Walk(const Graph& graph, std::span<const Tensor> inputs, graph::optimise::Known known,
       const ConeOptions& options)
      : graph_(graph),
        options_(options),
        known_(std::move(known)),
        ops_(ops_of_nodes(graph, known_)),
        values_(graph.values.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      at(graph.inputs[i]).there = inputs[i];
      inputs_.push_back(inputs[i]);
    }
    for (const auto& [id, tensor] : known_.constants) at(id).there = tensor;
  }

  Result<Cones> run(std::span<const Asked> asked);

 private:
  struct Value {
    std::optional<Tensor> there;  // all of it
    std::optional<Sheet> part;    // the elements of `wanted`, once they are computed
    Marks wanted;
    bool in_full = false;
  };
  Value& at(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  const std::optional<TensorType>& type(ValueId id) const {
    return known_.types[static_cast<std::size_t>(id)];
  }

  bool can_be_parted(const Node& node) const;
  bool is_fine(const Asked& one) const;
  void want(ValueId id, std::int64_t index);
  void want_in_full(ValueId id) {
    if (id != kAbsent && !at(id).there) at(id).in_full = true;
  }
  Result<void> look_back(std::size_t n);
  void want_reads(std::size_t n, const kernels::Call& call);
  Result<void> run_in_full();
  Result<void> compute(std::size_t n);
  Result<std::int64_t> compute_wanted(std::size_t n, const kernels::Call& call, int output,
                                      Value& value);
  Result<kernels::Call> call_of(const Node& node, std::vector<const Tensor*>& inputs);
  Result<ConeValues> found(const Asked& one);

  const Graph& graph_;
  const ConeOptions& options_;
  graph::optimise::Known known_;
  std::vector<std::int64_t> ops_;  // by node
  std::vector<Value> values_;
  std::vector<Tensor> inputs_;
  std::vector<std::size_t> in_part_;          // nodes, in reverse order
  std::map<std::size_t, ConvBlocks> blocks_;  // of these
  ConeWork work_;
};

bool Walk::can_be_parted(const Node& node) const {
  const kernels::Operator& op = *node.op;
  if (op.judge->infer == nullptr || op.judge->element == nullptr || op.judge->reads == nullptr)
    return false;
  const auto known = [&](ValueId id) { return id == kAbsent || has_elements(type(id)); };
  return std::ranges::all_of(node.inputs, known) && std::ranges::all_of(node.outputs, known);
}

void Walk::want(ValueId id, std::int64_t index) {
  Value& value = at(id);
  if (value.there || value.in_full) return;
  const std::int64_t elements = type(id)->shape.elements();
  value.wanted.add(index, elements);
  value.in_full = static_cast<double>(value.wanted.count()) >
                  options_.share_max * static_cast<double>(elements);
}

/// What node n must be given, from what is wanted of it.
Result<void> Walk::look_back(std::size_t n) {
  const Node& node = graph_.nodes[n];
  bool in_full = false, is_wanted = false;
  for (const ValueId id : node.outputs) {
    if (id == kAbsent || at(id).there) continue;
    const bool some = at(id).wanted.count() > 0;
    is_wanted = is_wanted || at(id).in_full || some;
    in_full = in_full || at(id).in_full || (some && !can_be_parted(node));
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
  want_reads(n, call);
  in_part_.push_back(n);
  return {};
}

/// Of the inputs, all that wanted elements of the outputs depend on.
void Walk::want_reads(std::size_t n, const kernels::Call& call) {
  const Node& node = graph_.nodes[n];
  const auto first_wanted = [&]() -> const Marks& { return at(node.outputs[0]).wanted; };
  if (is_compact(node, call)) {
    for (const ValueId id : node.inputs) {
      if (id == kAbsent) continue;
      const bool is_alike = type(id)->shape == call.outputs[0].shape;
      first_wanted().each([&](std::int64_t index) { want(id, is_alike ? index : 0); });
    }
    return;
  }
  const auto is_there = [&](ValueId id) { return id == kAbsent || at(id).there; };
  const auto behind_first =
      std::span(node.inputs).subspan(std::min<std::size_t>(1, node.inputs.size()));
  auto blocks =
      std::ranges::all_of(behind_first, is_there) ? ConvBlocks::of(node, call) : std::nullopt;
  if (blocks) {
    blocks->reads(first_wanted(), [&](std::int64_t index) { want(node.inputs[0], index); });
    blocks_.emplace(n, *std::move(blocks));
    return;
  }
  std::vector<kernels::ElementRef> read;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == kAbsent) continue;
    at(node.outputs[o]).wanted.each([&](std::int64_t index) {
      read.clear();
      node.op->judge->reads(call, static_cast<int>(o), index, read);
      for (const auto& [input, element] : read) {
        want(node.inputs[static_cast<std::size_t>(input)], element);
      }
    });
  }
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
    work_.ops += ops_[static_cast<std::size_t>(&*node - graph_.nodes.data())];
  }
  std::ranges::reverse(part.nodes);
  for (std::size_t id = 0; id < values_.size(); ++id) {
    const bool is_input =
        std::ranges::find(graph_.inputs, static_cast<ValueId>(id)) != graph_.inputs.end();
    // Folded, or run before: what makes it is left out.
    if (needed[id] && values_[id].there && !is_input) {
      part.initialisers.emplace(static_cast<ValueId>(id), *values_[id].there);
    }
  }
  work_.nodes_in_full += part.nodes.size();
  const std::vector<ValueId> outputs = part.outputs;
  COMMENSAL_ASSIGN(
      auto session,
      graph::Session::create(std::make_shared<const Graph>(std::move(part)), options_.session));
  COMMENSAL_ASSIGN(auto made, session.run(inputs_));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (made[o].dtype() == tensor::DType::kString) {
      return core::fail(core::ErrorCode::kUnsupported, "'{}' is {}, not a tensor of numbers",
                        graph_.name_of(outputs[o]), made[o].type().text());
    }
    at(outputs[o]).there = std::move(made[o]);
  }
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
    if (node.outputs[o] == kAbsent || at(node.outputs[o]).wanted.count() == 0) continue;
    Value& value = at(node.outputs[o]);
    if (value.there) continue;
    if (!value.part) {
      COMMENSAL_ASSIGN(value.part, Sheet::of(*type(node.outputs[o])));
    }
    COMMENSAL_ASSIGN(const std::int64_t ops, compute_wanted(n, call, static_cast<int>(o), value));
    work_.ops += ops;
    work_.elements += static_cast<std::uint64_t>(value.wanted.count());
  }
  ++work_.nodes_in_part;
  return {};
}

/// The operations that it took.
Result<std::int64_t> Walk::compute_wanted(std::size_t n, const kernels::Call& call, int output,
                                          Value& value) {
  const Node& node = graph_.nodes[n];
  const auto put = [&](std::int64_t index, std::uint64_t bits) { value.part->put(index, bits); };
  if (const auto blocks = blocks_.find(n); blocks != blocks_.end()) {
    return blocks->second.compute(value.wanted, call.in(0), options_.session, put);
  }
  if (is_compact(node, call) && run_compact(node, call, value.wanted, put)) {
    return value.wanted.count();
  }
  const kernels::StepsFn steps = node.op->judge->steps;
  std::int64_t ops = 0;
  value.wanted.each([&](std::int64_t index) {
    put(index, node.op->judge->element(call, output, index).bits);
    const std::int64_t done = steps != nullptr ? steps(call, output, index) : 0;
    ops += done > 0 ? 2 * done : 1;
  });
  return ops;
}

/// Whether its elements are worth looking at, as far as is known beforehand.
bool Walk::is_fine(const Asked& one) const {
  const auto& known = type(graph_.outputs[one.output]);
  return !one.claimed || !known || *known == *one.claimed;
}

Result<ConeValues> Walk::found(const Asked& one) {
  const ValueId target = graph_.outputs[one.output];
  const Value& value = at(target);
  ConeValues made;
  if (!value.there && !value.part) {  // nothing was wanted
    made.type = *type(target);
    return made;
  }
  const Tensor& tensor = value.there ? *value.there : value.part->tensor();
  made.type = tensor.type();
  if (one.claimed && made.type != *one.claimed) return made;
  for (const std::int64_t index : one.indices) {
    if (index >= tensor.elements()) {
      return fail(ErrorCode::kInvalidArgument, "element {} of {}", index, tensor.type().text());
    }
    made.values.push_back({tensor.dtype(), tensor::element_bits(tensor, index)});
  }
  return made;
}

Result<Cones> Walk::run(std::span<const Asked> asked) {
  for (const Asked& one : asked) {
    const ValueId target = graph_.outputs[one.output];
    if (!has_elements(type(target))) {
      want_in_full(target);
    } else if (is_fine(one)) {
      for (const std::int64_t index : one.indices) want(target, index);
    }
  }
  for (std::size_t n = graph_.nodes.size(); n-- > 0;) COMMENSAL_TRY(look_back(n));
  COMMENSAL_TRY(run_in_full());
  for (auto n = in_part_.rbegin(); n != in_part_.rend(); ++n) COMMENSAL_TRY(compute(*n));
  Cones made;
  made.work = work_;
  for (const std::int64_t ops : ops_) made.work.ops_of_all += ops;
  for (const Asked& one : asked) {
    COMMENSAL_ASSIGN(ConeValues values, found(one));
    made.outputs.push_back(std::move(values));
  }
  return made;
}

}  // namespace

bool steers(const kernels::Operator& op, int input) {
  return !op.domain.empty() || op.steers(static_cast<std::size_t>(input));
}

Result<Cones> cone_values(const Graph& graph, std::span<const Tensor> inputs,
                          std::span<const Asked> asked, const ConeOptions& options) {
  const std::vector<tensor::Value> values(inputs.begin(), inputs.end());
  COMMENSAL_TRY(graph::check_inputs(graph, values));
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  auto known = graph::optimise::known_of(graph, types);
  if (!known) {
    return fail(ErrorCode::kInvalidArgument, "the graph refuses inputs of these types");
  }
  for (const Asked& one : asked) {
    if (one.output >= graph.outputs.size()) {
      return fail(ErrorCode::kInvalidArgument, "there is no such output");
    }
    const auto& type = known->types[static_cast<std::size_t>(graph.outputs[one.output])];
    if (one.claimed && type && *type != *one.claimed) continue;
    for (const std::int64_t index : one.indices) {
      if (index >= 0 && (!type || index < type->shape.elements())) continue;
      return fail(ErrorCode::kInvalidArgument, "element {} of {}", index,
                  type ? type->text() : "an output");
    }
  }
  return Walk(graph, inputs, *std::move(known), options).run(asked);
}

}  // namespace commensal::spot
