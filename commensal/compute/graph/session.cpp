// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/graph/lifetimes.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/string_codes.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>

namespace commensal::graph {

using core::ErrorCode;
using core::fail;
using core::Result;
using kernels::Call;
using tensor::Tensor;

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

// Floating-point operations that a node is about to do, roughly: a Pacer plans with it.
std::int64_t estimate_ops(const kernels::Operator& op, const Call& call) {
  std::int64_t ops = 0;
  for (int i = 0; i < static_cast<int>(call.outputs.size()); ++i) {
    const std::int64_t elements = call.outputs[static_cast<std::size_t>(i)].shape.elements();
    const bool reduces = op.steps != nullptr && elements > 0;
    ops += elements * (reduces ? 2 * std::max<std::int64_t>(op.steps(call, i, 0), 1) : 1);
  }
  return ops;
}

// The instruction set to use; none where ref/ serves.
Result<std::optional<kernels::Isa>> choose_isa(const SessionOptions& options) {
  if (options.backend == Backend::kRef) return std::nullopt;
  const auto isas = kernels::available_isas();
  if (!options.isa) return isas.empty() ? std::nullopt : std::optional(isas.back());
  if (std::find(isas.begin(), isas.end(), *options.isa) != isas.end()) return options.isa;
  std::string names;
  for (const kernels::Isa isa : isas) names += fmt::format(" {}", kernels::name_of(isa));
  return fail(ErrorCode::kUnsupported, "this machine lacks {}; available:{}",
              kernels::name_of(*options.isa), names.empty() ? " none" : names);
}

}  // namespace

struct Session::State {
  // Constant after create().
  std::shared_ptr<const Graph> graph;
  std::optional<kernels::Isa> isa;
  std::vector<std::vector<ValueId>> released;
  std::vector<std::shared_ptr<const kernels::Packed>> packed;

  tensor::Arena arena;
  kernels::ThreadPool threads;

  State(std::shared_ptr<const Graph> model, const SessionOptions& options,
        std::optional<kernels::Isa> chosen)
      : graph(std::move(model)),
        isa(chosen),
        released(last_uses(*graph)),
        packed(graph->nodes.size()),
        arena(options.memory_bytes_max),
        threads(chosen ? options.threads : 1) {}

  Result<void> pack_constants();
  Result<std::vector<Tensor>> run_node(std::size_t index, std::span<const Tensor* const> inputs,
                                       Tracer* tracer, core::Pacer* pacer);
};

Result<void> Session::State::pack_constants() {
  if (!isa) return {};
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const Node& node = graph->nodes[i];
    if (node.op->cpu == nullptr || node.op->pack == nullptr) continue;
    std::vector<const Tensor*> constants;
    for (const ValueId id : node.inputs) {
      const auto found = graph->initialisers.find(id);
      constants.push_back(found == graph->initialisers.end() ? nullptr : &found->second);
    }
    auto made = node.op->pack(call_of(node, constants), *isa);
    if (!made) return core::in_context(place_of(node), made.error());
    packed[i] = *std::move(made);
  }
  return {};
}

Result<std::vector<Tensor>> Session::State::run_node(std::size_t index,
                                                     std::span<const Tensor* const> inputs,
                                                     Tracer* tracer, core::Pacer* pacer) {
  const Node& node = graph->nodes[index];
  Call call = call_of(node, inputs);
  COMMENSAL_ASSIGN(const auto codes, kernels::StringCodes::of(*node.op, call));
  call.inputs = codes.inputs();
  COMMENSAL_ASSIGN(call.outputs, node.op->infer(call));
  core::check(static_cast<int>(call.outputs.size()) == call.output_count,
              "an operator infers each of its outputs");
  COMMENSAL_ASSIGN(auto outputs, kernels::allocate_outputs(call, arena));
  if (pacer != nullptr && !pacer->pace(estimate_ops(*node.op, call))) {
    return fail(ErrorCode::kUnavailable, "the host needs its machine: stopped");
  }
  if (tracer != nullptr) tracer->before_node(node, call);
  kernels::Workspace workspace{arena, threads, isa.value_or(kernels::Isa::kAvx2),
                               packed[index].get()};
  const kernels::KernelFn kernel = isa && node.op->cpu != nullptr ? node.op->cpu : node.op->ref;
  COMMENSAL_TRY(kernel(call, outputs, workspace));
  if (tracer != nullptr) tracer->after_node(node, call, outputs);
  return codes.decoded(std::move(outputs));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Graph& Session::graph() const { return *state_->graph; }

Result<Session> Session::create(std::shared_ptr<const Graph> graph, const SessionOptions& options) {
  core::check(graph != nullptr, "a session has a graph");
  if (options.threads < 1 || options.threads > limits::kThreadsMax) {
    return fail(ErrorCode::kInvalidArgument, "{} threads, expected 1 to {}", options.threads,
                limits::kThreadsMax);
  }
  if (options.memory_bytes_max <= 0) {
    return fail(ErrorCode::kInvalidArgument, "a memory limit of {} bytes, expected more than 0",
                options.memory_bytes_max);
  }
  COMMENSAL_ASSIGN(const auto isa, choose_isa(options));
  auto state = std::make_unique<State>(std::move(graph), options, isa);
  COMMENSAL_TRY(state->pack_constants());
  return Session(std::move(state));
}

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs, Tracer* tracer,
                                         core::Pacer* pacer) {
  const Graph& graph = *state_->graph;
  COMMENSAL_TRY(check_inputs(graph, inputs));
  std::vector<Tensor> values(graph.values.size());
  const auto value = [&values](ValueId id) -> Tensor& {
    return values[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) value(graph.inputs[i]) = inputs[i];
  for (const auto& [id, constant] : graph.initialisers) value(id) = constant;

  std::vector<const Tensor*> arguments;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    arguments.clear();
    for (const ValueId id : node.inputs) {
      arguments.push_back(id == kAbsent ? nullptr : &value(id));
    }
    auto made = state_->run_node(i, arguments, tracer, pacer);
    if (!made) return core::in_context(place_of(node), made.error());
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] != kAbsent) value(node.outputs[k]) = std::move((*made)[k]);
    }
    for (const ValueId id : state_->released[i]) value(id) = Tensor();
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(value(id));
  return outputs;
}

Result<void> check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    std::string expected;
    for (const ValueId id : graph.inputs) {
      const Value& value = graph.values[static_cast<std::size_t>(id)];
      expected +=
          fmt::format("{}{} {}", expected.empty() ? "" : ", ", value.name, value.declared.text());
    }
    return fail(ErrorCode::kInvalidArgument, "{} inputs, expected {}: {}", inputs.size(),
                graph.inputs.size(), expected);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.values[static_cast<std::size_t>(graph.inputs[i])];
    if (!value.declared.admits(inputs[i].type())) {
      return fail(ErrorCode::kInvalidArgument, "input '{}' is {}, expected {}", value.name,
                  inputs[i].type().text(), value.declared.text());
    }
  }
  return {};
}

}  // namespace commensal::graph
