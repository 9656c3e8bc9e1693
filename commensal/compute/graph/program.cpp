// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/by_image.hpp>
#include <commensal/compute/graph/frame.hpp>
#include <commensal/compute/graph/lifetimes.hpp>
#include <commensal/compute/graph/place_of.hpp>
#include <commensal/compute/graph/prepared.hpp>
#include <commensal/compute/graph/program.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/otherwise.hpp>
#include <commensal/compute/kernels/string_codes.hpp>

namespace commensal::graph {

using core::ErrorCode;
using core::fail;
using core::Result;
using kernels::Call;
using tensor::Tensor;
using tensor::Value;

namespace {

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

/// Tells a tracer which graph runs.
class Inside {
 public:
  Inside(Tracer* tracer, const Node& node, const Subgraph& graph) : tracer_(tracer) {
    if (tracer_ != nullptr) tracer_->enter(node, graph);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    if (tracer_ != nullptr) tracer_->leave();
  }

 private:
  Tracer* const tracer_;
};

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
    const Inside inside(machine_.tracer, node_, node_.subgraphs[*at]);
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

namespace {

Types declared_types(const Graph& graph) {
  Types types;
  for (const ValueInfo& value : graph.values) types.push_back(value.declared.type());
  for (const auto& [id, constant] : graph.initialisers) {
    types[static_cast<std::size_t>(id)] = constant.type();
  }
  return types;
}

}  // namespace

Program::Program(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa, Form form,
                 std::shared_ptr<PackCache> cache)
    : graph_(std::move(graph)),
      isa_(isa),
      form_(form),
      cache_(std::move(cache)),
      declared_(declared_types(*graph_)),
      released_(last_uses(*graph_)),
      in_place_(*graph_),
      packed_(graph_->nodes.size()),
      frames_(std::make_unique<Frames>()) {
  for (const Node& node : graph_->nodes) inferred_.push_back(types_ahead(node));
}
Program::Program(Program&&) noexcept = default;
Program::~Program() = default;

/// Of its outputs; none where its inference is to look at elements in each run.
std::vector<tensor::TensorType> Program::types_ahead(const Node& node) const {
  const auto known = [&](ValueId id) {
    const auto& type = declared_[static_cast<std::size_t>(id)];
    return type && tensor::traits(type->dtype).size > 0;
  };
  const auto is_settled = [&](std::size_t i) {
    const ValueId id = node.inputs[i];
    if (id == kAbsent) return !is_required(*node.op, static_cast<int>(i));
    return known(id) && (!node.op->reads_ahead(i) || graph_->initialisers.contains(id));
  };
  if (!node.op->is_internal()) {
    if (form_ != Form::kPlanned || !node.op->shaped_by()) return {};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_settled(i)) return {};
    }
  }
  std::vector<tensor::TensorType> types;
  for (const ValueId id : node.outputs) {
    if (id == kAbsent || !known(id)) return {};
    types.push_back(*declared_[static_cast<std::size_t>(id)]);
  }
  return types;
}

Result<Program> Program::make(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa,
                              const std::shared_ptr<PackCache>& cache, Form form,
                              const kernels::ThreadPool* host) {
  Program made(std::move(graph), isa, form, cache);
  if (isa) COMMENSAL_TRY(made.pack_constants(*cache, host));
  COMMENSAL_TRY(made.prepare_inner(cache, host));
  return made;
}

Result<void> Program::prepare_inner(const std::shared_ptr<PackCache>& cache,
                                    const kernels::ThreadPool* host) {
  const TypeOf type_of = [&](ValueId id) -> const tensor::TensorType* {
    if (id == kAbsent) return nullptr;
    const auto& type = declared_[static_cast<std::size_t>(id)];
    return type ? &*type : nullptr;
  };
  for (const Node& node : graph_->nodes) {
    auto& inner = inner_.emplace_back();
    for (const Subgraph& subgraph : node.subgraphs) {
      Prepared& made = *inner.emplace_back(std::make_unique<Prepared>(subgraph.graph, isa_, cache));
      if (form_ == Form::kAsItIs || node.op->is_internal()) {
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
  if (form_ == Form::kAsItIs) return prepared.plain(&machine.threads);
  return prepared.for_inputs(inputs, &machine.threads);
}

Result<void> Program::pack_constants(PackCache& cache, const kernels::ThreadPool* host) {
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
    auto made = cache.packed(node, call, *isa_);
    if (!made) return core::in_context(place_of(node), made.error());
    packed_[i] = *std::move(made);
  }
  return {};
}

kernels::KernelFn Program::kernel_of(std::size_t node) const {
  const kernels::Operator& op = *graph_->nodes[node].op;
  return isa_ && op.fast() != nullptr ? op.fast() : op.judge->run;
}

Result<void> Program::begin(std::size_t index, Frame& frame, const Machine& machine) const {
  if (!machine.control.counts()) return machine.control.begin(0);
  Frame::Step& step = frame.step(index);
  if (step.ops < 0 || inferred_[index].empty()) {
    step.ops = work_of(*graph_->nodes[index].op, step.call).ops;
  }
  return machine.control.begin(step.ops);
}

Result<void> Program::call(kernels::KernelFn kernel, std::size_t index, Frame& frame,
                           const Machine& machine) const {
  Frame::Step& step = frame.step(index);
  kernels::Workspace workspace{machine.arena, machine.threads, isa_.value_or(kernels::Isa::kAvx2),
                               packed_[index].get()};
  auto done = kernel(step.call, step.outputs, workspace);
  if (done || !isa_) return done;
  // A fast kernel may want more memory than there is.
  return kernels::run_otherwise(*graph_->nodes[index].op, std::move(done), step.call, step.outputs,
                                workspace);
}

Result<void> Program::run_call(std::size_t index, Frame& frame, InPlace::Memory& memory,
                               const Machine& machine) const {
  const Node& node = graph_->nodes[index];
  Frame::Step& step = frame.step(index);
  const Call& call = step.call;
  core::check(static_cast<int>(call.outputs.size()) == call.output_count,
              "an operator infers each of its outputs");
  COMMENSAL_TRY(begin(index, frame, machine));
  if (machine.tracer != nullptr) step.show_to(*machine.tracer, node);
  auto joined = step.is_fixed ? std::nullopt : memory.joined(node, call.outputs[0], call.inputs);
  if (joined) {
    step.outputs.assign(1, *std::move(joined));
  } else {
    if (!step.is_fixed) COMMENSAL_TRY(memory.allocate(node, call, step.outputs));
    COMMENSAL_TRY(this->call(kernel_of(index), index, frame, machine));
  }
  if (machine.tracer != nullptr) machine.tracer->after_node(node, call, step.outputs);
  return {};
}

/// Of what nodes make whose types data decide: nodes behind them rely on what is planned.
Result<void> Program::check_planned(const Node& node, std::size_t output, const Value& made) const {
  if (form_ != Form::kPlanned || node.outputs[output] == kAbsent) return {};
  const auto& type = declared_[static_cast<std::size_t>(node.outputs[output])];
  if (!type || (made.is_tensor() && made.tensor().type() == *type)) return {};
  return fail(ErrorCode::kInvalidArgument, "output {} is {}, planned as {}", output, made.text(),
              type->text());
}

Result<void> Program::run_kernel(std::size_t index, Frame& frame, InPlace::Memory& memory,
                                 const Machine& machine) const {
  const Node& node = graph_->nodes[index];
  Frame::Step& step = frame.step(index);
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const Value* const input = step.inputs[i];
    if (!is_tensor_or_nothing(input)) {
      return fail(ErrorCode::kInvalidArgument, "input {} must be a tensor, not {}", i,
                  input->text());
    }
    const bool is_there = input != nullptr && input->is_tensor();
    if (!is_there && is_required(*node.op, static_cast<int>(i))) {
      return fail(ErrorCode::kInvalidArgument, "input {} is missing", i);
    }
    step.tensors[i] = is_there ? &input->tensor() : nullptr;
  }
  step.call.pulse = kernels::Pulse(&machine.threads);
  step.call.is_judged = false;
  step.call.inputs = step.tensors;
  std::optional<kernels::StringCodes> codes;
  if (inferred_[index].empty()) {
    step.call.memo.keep_for_a_run();
    COMMENSAL_ASSIGN(codes, kernels::StringCodes::of(*node.op, step.call));
    step.call.inputs = codes->inputs();
    step.coded = codes->outputs();
    if (const std::int64_t ops = ops_of_inference(*node.op, step.call); ops > 0) {
      COMMENSAL_TRY(machine.control.begin(ops));
    }
    COMMENSAL_ASSIGN(step.call.outputs, node.op->judge->infer(step.call));
    if (step.is_fixed) COMMENSAL_TRY(step.check_types());
  }
  COMMENSAL_TRY(run_call(index, frame, memory, machine));
  if (codes) step.call.memo.forget();
  if (step.is_fixed) return {};
  if (codes) step.outputs = codes->decoded(std::move(step.outputs), step.call.pulse);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (codes) COMMENSAL_TRY(check_planned(node, k, step.outputs[k]));
    if (node.outputs[k] != kAbsent) frame.value(node.outputs[k]) = std::move(step.outputs[k]);
  }
  step.outputs.clear();
  return {};
}

Result<void> Program::run_on_values(std::size_t index, Frame& frame, const Machine& machine) const {
  const Node& node = graph_->nodes[index];
  const Frame::Step& step = frame.step(index);
  Values made;
  if (node.op->role == kernels::Role::kByImage) {
    COMMENSAL_ASSIGN(const auto body, inner_[index][0]->plain(&machine.threads));
    COMMENSAL_ASSIGN(made, run_by_image(*body, step.inputs, inferred_[index], machine));
  } else {
    COMMENSAL_TRY(machine.control.begin(0));
    NodeSubgraphs subgraphs(*this, index, frame.values(), machine);
    COMMENSAL_ASSIGN(made, node.op->values({.attributes = &node.attributes,
                                            .inputs = step.inputs,
                                            .output_count = static_cast<int>(node.outputs.size()),
                                            .subgraphs = subgraphs,
                                            .arena = machine.arena,
                                            .threads = machine.threads}));
  }
  core::check(made.size() == node.outputs.size(), "an operator returns every output");
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const ValueId id = node.outputs[k];
    if (id == kAbsent) continue;
    COMMENSAL_TRY(check_planned(node, k, made[k]));
    frame.value(id) = std::move(made[k]);
  }
  return {};
}

Result<void> Program::run_node(std::size_t index, Frame& frame, InPlace::Memory& memory,
                               const Machine& machine) const {
  if (machine.node_runs_left-- <= 0) {
    return fail(ErrorCode::kResourceExhausted, "it loops through more nodes than a run may");
  }
  Frame::Step& step = frame.step(index);
  if (step.bound != nullptr && machine.tracer == nullptr) {
    COMMENSAL_TRY(begin(index, frame, machine));
    step.call.pulse = kernels::Pulse(&machine.threads);
    return call(step.bound, index, frame, machine);
  }
  const kernels::Operator& op = *graph_->nodes[index].op;
  if (op.role == kernels::Role::kByImage || runs_on_values(op, step.inputs)) {
    return run_on_values(index, frame, machine);
  }
  return run_kernel(index, frame, memory, machine);
}

Result<Program::Values> Program::run(Values inputs, const Machine& machine,
                                     std::span<const Tensor> places) const {
  InPlace::Memory memory(in_place_, machine.arena, graph_->outputs, places);
  Frames::Lease lease(*this, machine.tracer == nullptr || !machine.tracer->keeps_tensors());
  Frame& frame = *lease;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    frame.value(graph_->inputs[i]) = std::move(inputs[i]);
  }
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const auto done = run_node(i, frame, memory, machine);
    if (!done) return core::in_context(place_of(graph_->nodes[i]), done.error());
    frame.release(i);
    memory.release(i);
  }
  Values outputs;
  for (const ValueId id : graph_->outputs) outputs.push_back(frame.value(id));
  return outputs;
}

}  // namespace commensal::graph
