// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/bodies.hpp>
#include <commensal/compute/graph/by_image.hpp>
#include <commensal/compute/graph/lifetimes.hpp>
#include <commensal/compute/graph/prepared.hpp>
#include <commensal/compute/graph/program.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/string_codes.hpp>

namespace commensal::graph {

using core::ErrorCode;
using core::fail;
using core::Result;
using kernels::Call;
using tensor::Tensor;
using tensor::Value;

namespace {

std::string place_of(const Node& node) {
  return fmt::format("node '{}' ({})", node.name, node.op->name);
}

Call call_of(const Node& node, std::span<const Tensor* const> inputs) {
  Call call;
  call.opset = node.opset;
  call.attributes = &node.attributes;
  call.inputs = inputs;
  call.output_count = static_cast<int>(node.outputs.size());
  return call;
}

bool is_required(const kernels::Operator& op, int input) {
  return input < op.inputs.min || op.inputs.max == limits::kNodeInputsMax;
}

bool is_tensor_or_nothing(const Value* value) { return value == nullptr || !value->is_sequence(); }

// Operators that compute see tensors only; those on values take what is left.
bool runs_on_values(const kernels::Operator& op, std::span<const Value* const> inputs) {
  if (op.values == nullptr) return false;
  const auto is_tensor = [](const Value* value) { return value != nullptr && value->is_tensor(); };
  return op.judge->infer == nullptr || !std::ranges::all_of(inputs, is_tensor);
}

}  // namespace

namespace {

/// What the planner has put down for the outputs of an operator of its own; empty for others, whose
/// inference checks elements too.
std::vector<tensor::TensorType> planned_types(const Graph& graph, const Node& node) {
  std::vector<tensor::TensorType> types;
  if (!node.op->is_internal()) return types;
  for (const ValueId id : node.outputs) {
    const auto type = graph.values[static_cast<std::size_t>(id)].declared.type();
    if (!type) return {};
    types.push_back(*type);
  }
  return types;
}

}  // namespace

/// The subgraphs of one node, with the values that they capture from around it.
class Program::NodeSubgraphs final : public kernels::Subgraphs {
 public:
  NodeSubgraphs(const Program& program, std::size_t index, const Values& around,
                const Machine& machine)
      : program_(program),
        index_(index),
        node_(program.graph_->nodes[index]),
        around_(around),
        machine_(machine) {}

  std::optional<Size> size(std::string_view name) const override {
    const auto at = find(name);
    if (!at) return std::nullopt;
    const Graph& graph = *node_.subgraphs[*at].graph;
    return Size{graph.inputs.size() - node_.subgraphs[*at].captures.size(), graph.outputs.size()};
  }

  tensor::TensorType output_type(std::string_view name, std::size_t output) const override {
    const auto at = find(name);
    if (!at) return {};
    const Graph& graph = *node_.subgraphs[*at].graph;
    const Declared& declared =
        graph.values[static_cast<std::size_t>(graph.outputs[output])].declared;
    if (!declared.containers.empty()) return {};
    std::vector<std::int64_t> dims = declared.dims;
    for (std::int64_t& dim : dims) dim = std::max<std::int64_t>(dim, 0);
    const auto shape = tensor::Shape::of(dims);
    return {declared.dtype, shape ? *shape : tensor::Shape()};
  }

  Result<Values> run(std::string_view name, Values inputs) override {
    const auto at = find(name);
    core::check(at.has_value(), "only a graph that is there is run");
    for (const ValueId id : node_.subgraphs[*at].captures) {
      inputs.push_back(around_[static_cast<std::size_t>(id)]);
    }
    core::check(inputs.size() == node_.subgraphs[*at].graph->inputs.size(),
                "the caller knows the size");
    COMMENSAL_ASSIGN(const auto inner, program_.inner_for(index_, *at, inputs, machine_));
    auto made = inner->run(std::move(inputs), machine_);
    if (!made) return core::in_context(fmt::format("in {}", name), made.error());
    return made;
  }

 private:
  std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(node_.subgraphs, name, &Subgraph::name);
    if (found == node_.subgraphs.end()) return std::nullopt;
    return static_cast<std::size_t>(found - node_.subgraphs.begin());
  }

  const Program& program_;
  const std::size_t index_;
  const Node& node_;
  const Values& around_;
  const Machine& machine_;
};

Program::Program(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      released_(last_uses(*graph_)),
      in_place_(*graph_),
      packed_(graph_->nodes.size()) {
  for (const Node& node : graph_->nodes) inferred_.push_back(planned_types(*graph_, node));
}
Program::Program(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::make(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa,
                              const std::shared_ptr<PackCache>& cache, Inner inner,
                              const kernels::ThreadPool* host) {
  Program made(std::move(graph));
  made.inner_are_ = inner;
  if (isa) COMMENSAL_TRY(made.pack_constants(*isa, *cache, host));
  COMMENSAL_TRY(made.prepare_inner(cache, isa, host));
  return made;
}

Result<void> Program::prepare_inner(const std::shared_ptr<PackCache>& cache,
                                    std::optional<kernels::Isa> isa,
                                    const kernels::ThreadPool* host) {
  std::vector<std::optional<tensor::TensorType>> types;
  for (const ValueInfo& value : graph_->values) types.push_back(value.declared.type());
  const TypeOf type_of = [&](ValueId id) -> const tensor::TensorType* {
    if (id == kAbsent) return nullptr;
    const auto& type = types[static_cast<std::size_t>(id)];
    return type ? &*type : nullptr;
  };
  for (const Node& node : graph_->nodes) {
    auto& inner = inner_.emplace_back();
    for (const Subgraph& subgraph : node.subgraphs) {
      Prepared& made = *inner.emplace_back(std::make_unique<Prepared>(subgraph.graph, isa, cache));
      if (inner_are_ == Inner::kAsTheyAre || node.op->is_internal()) {
        COMMENSAL_TRY(made.plain(host));
      } else if (const auto inputs = body_inputs(node, subgraph, type_of)) {
        COMMENSAL_TRY(made.planned(*inputs, host));
      }
    }
  }
  return {};
}

Result<std::shared_ptr<const Program>> Program::inner_for(std::size_t node, std::size_t subgraph,
                                                          const Values& inputs,
                                                          const Machine& machine) const {
  Prepared& prepared = *inner_[node][subgraph];
  if (inner_are_ == Inner::kAsTheyAre) return prepared.plain(&machine.threads);
  return prepared.for_inputs(inputs, &machine.threads);
}

Result<void> Program::pack_constants(kernels::Isa isa, PackCache& cache,
                                     const kernels::ThreadPool* host) {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const Node& node = graph_->nodes[i];
    if (node.op->cpu == nullptr || node.op->pack == nullptr) continue;
    std::vector<const Tensor*> constants;
    for (const ValueId id : node.inputs) {
      const auto found = graph_->initialisers.find(id);
      constants.push_back(found == graph_->initialisers.end() ? nullptr : &found->second);
    }
    Call call = call_of(node, constants);
    call.pulse = kernels::Pulse(host);
    if (host != nullptr) host->yield();
    auto made = cache.packed(node, call, isa);
    if (!made) return core::in_context(place_of(node), made.error());
    packed_[i] = *std::move(made);
  }
  return {};
}

Result<Program::Values> Program::run_kernel(std::size_t index, std::span<const Value* const> inputs,
                                            InPlace::Memory& memory, const Machine& machine) const {
  const Node& node = graph_->nodes[index];
  std::vector<const Tensor*> tensors;
  for (const Value* input : inputs) {
    if (!is_tensor_or_nothing(input)) {
      return fail(ErrorCode::kInvalidArgument, "input {} must be a tensor, not {}", tensors.size(),
                  input->text());
    }
    const bool is_there = input != nullptr && input->is_tensor();
    if (!is_there && is_required(*node.op, static_cast<int>(tensors.size()))) {
      return fail(ErrorCode::kInvalidArgument, "input {} is missing", tensors.size());
    }
    tensors.push_back(is_there ? &input->tensor() : nullptr);
  }
  Call call = call_of(node, tensors);
  call.pulse = kernels::Pulse(&machine.threads);
  COMMENSAL_ASSIGN(const auto codes, kernels::StringCodes::of(*node.op, call));
  call.inputs = codes.inputs();
  call.outputs = inferred_[index];
  if (call.outputs.empty()) {
    COMMENSAL_ASSIGN(call.outputs, node.op->judge->infer(call));
  }
  core::check(static_cast<int>(call.outputs.size()) == call.output_count,
              "an operator infers each of its outputs");
  COMMENSAL_TRY(machine.control.begin(machine.control.counts() ? work_of(*node.op, call).ops : 0));
  if (machine.tracer != nullptr) machine.tracer->before_node(node, call);
  if (const auto joined = memory.joined(node, call.outputs[0], tensors)) {
    if (machine.tracer != nullptr) machine.tracer->after_node(node, call, {&*joined, 1});
    return Values{*joined};
  }
  COMMENSAL_ASSIGN(auto outputs, memory.outputs(node, call));
  kernels::Workspace workspace{machine.arena, machine.threads,
                               machine.isa.value_or(kernels::Isa::kAvx2), packed_[index].get()};
  const bool fast = machine.isa && node.op->fast() != nullptr;
  COMMENSAL_TRY((fast ? node.op->fast() : node.op->judge->run)(call, outputs, workspace));
  if (machine.tracer != nullptr) machine.tracer->after_node(node, call, outputs);
  outputs = codes.decoded(std::move(outputs), call.pulse);
  return Values(std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end()));
}

Result<Program::Values> Program::run_node(std::size_t index, const Values& values,
                                          InPlace::Memory& memory, const Machine& machine) const {
  const Node& node = graph_->nodes[index];
  if (machine.node_runs_left-- <= 0) {
    return fail(ErrorCode::kResourceExhausted, "it loops through more nodes than a run may");
  }
  std::vector<const Value*> inputs;
  for (const ValueId id : node.inputs) {
    inputs.push_back(id == kAbsent ? nullptr : &values[static_cast<std::size_t>(id)]);
  }
  if (node.op->role == kernels::Role::kByImage) {
    COMMENSAL_ASSIGN(const auto body, inner_[index][0]->plain(&machine.threads));
    return run_by_image(*body, inputs, inferred_[index], machine);
  }
  if (!runs_on_values(*node.op, inputs)) return run_kernel(index, inputs, memory, machine);
  COMMENSAL_TRY(machine.control.begin(0));
  NodeSubgraphs subgraphs(*this, index, values, machine);
  auto made = node.op->values({.attributes = &node.attributes,
                               .inputs = inputs,
                               .output_count = static_cast<int>(node.outputs.size()),
                               .subgraphs = subgraphs,
                               .arena = machine.arena,
                               .threads = machine.threads});
  core::check(!made || made->size() == node.outputs.size(), "an operator returns every output");
  return made;
}

Result<Program::Values> Program::run(Values inputs, const Machine& machine,
                                     std::span<const Tensor> places) const {
  InPlace::Memory memory(in_place_, machine.arena, graph_->outputs, places);
  Values values(graph_->values.size());
  const auto value = [&values](ValueId id) -> Value& {
    return values[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) value(graph_->inputs[i]) = std::move(inputs[i]);
  for (const auto& [id, constant] : graph_->initialisers) value(id) = constant;
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const Node& node = graph_->nodes[i];
    auto made = run_node(i, values, memory, machine);
    if (!made) return core::in_context(place_of(node), made.error());
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] != kAbsent) value(node.outputs[k]) = std::move((*made)[k]);
    }
    for (const ValueId id : released_[i]) value(id) = Value();
    memory.release(i);
  }
  Values outputs;
  for (const ValueId id : graph_->outputs) outputs.push_back(value(id));
  return outputs;
}

}  // namespace commensal::graph
