// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/graph/program.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>

namespace commensal::graph {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Tensor;
using tensor::Value;

namespace {

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
  std::shared_ptr<Prepared> prepared;
  bool optimise;
  std::int64_t node_runs_max;
  core::Pacer* pacer;
  tensor::Arena arena;
  kernels::ThreadPool threads;

  State(std::shared_ptr<Prepared> model, const SessionOptions& options)
      : prepared(std::move(model)),
        optimise(options.optimise && prepared->isa()),
        node_runs_max(options.node_runs_max),
        pacer(options.pacer),
        arena(options.memory_bytes_max),
        threads(prepared->isa() ? options.threads : 1) {}

  /// What runs such inputs.
  Prepared::ProgramResult program_for(Prepared& model, std::span<const Value> inputs,
                                      const Tracer* tracer) {
    if (!optimise || (tracer != nullptr && tracer->wants_plain_nodes())) {
      return model.plain(&threads);
    }
    return model.for_inputs(inputs, &threads);
  }

  Result<std::vector<Value>> run(Prepared& model, std::span<const Value> inputs,
                                 RunOptions options) {
    COMMENSAL_TRY(check_inputs(model.graph(), inputs));
    if (options.pacer == nullptr) options.pacer = pacer;
    RunControl control(options);
    return under(control, [&]() -> Result<std::vector<Value>> {
      COMMENSAL_ASSIGN(const auto program, program_for(model, inputs, options.tracer));
      std::int64_t node_runs_left = node_runs_max;
      return program->run({inputs.begin(), inputs.end()},
                          {arena, threads, options.tracer, control, node_runs_left});
    });
  }

  Result<std::vector<Tensor>> run(Prepared& model, std::span<const Tensor> inputs,
                                  const RunOptions& options) {
    const std::vector<Value> values(inputs.begin(), inputs.end());
    COMMENSAL_ASSIGN(const auto made, run(model, values, options));
    std::vector<Tensor> outputs;
    for (const Value& value : made) {
      if (!value.is_tensor()) {
        return fail(ErrorCode::kUnsupported, "output '{}' is {}, not a tensor",
                    model.graph().name_of(model.graph().outputs[outputs.size()]), value.text());
      }
      outputs.push_back(value.tensor());
    }
    return outputs;
  }

  /// What can be made before the inputs are there: all of it if the model fixes their types.
  Result<void> prepare() {
    if (!optimise) {
      COMMENSAL_TRY(prepared->plain(&threads));
      return {};
    }
    std::vector<tensor::TensorType> types;
    for (const ValueId id : prepared->graph().inputs) {
      const auto type = prepared->graph().values[static_cast<std::size_t>(id)].declared.type();
      if (!type) return {};
      types.push_back(*type);
    }
    COMMENSAL_TRY(prepared->planned(types, &threads));
    return {};
  }

  /// What `work` returns, the pool's pacer being the control; its reason where it ends that.
  template <class Work>
  auto under(RunControl& control, const Work& work) -> decltype(work()) {
    const kernels::ThreadPool::Burst burst(threads, &control);
    auto made = kernels::unless_stopped(work);
    if (!made) return tl::unexpected(control.why());
    return *std::move(made);
  }
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Graph& Session::graph() const { return state_->prepared->graph(); }
const std::shared_ptr<Prepared>& Session::prepared() const { return state_->prepared; }
core::Pacer* Session::pacer() const { return state_->pacer; }

Result<Session> Session::create(std::shared_ptr<const Graph> graph, const SessionOptions& options) {
  core::check(graph != nullptr, "a session has a graph");
  COMMENSAL_ASSIGN(const auto isa, choose_isa(options));
  return create(
      std::make_shared<Prepared>(std::move(graph), isa, options.packs, options.memory_bytes_max),
      options);
}

Result<Session> Session::create(std::shared_ptr<Prepared> prepared, const SessionOptions& options) {
  core::check(prepared != nullptr, "a session has a model");
  if (options.threads < 1 || options.threads > limits::kThreadsMax) {
    return fail(ErrorCode::kInvalidArgument, "{} threads, expected 1 to {}", options.threads,
                limits::kThreadsMax);
  }
  if (options.memory_bytes_max <= 0) {
    return fail(ErrorCode::kInvalidArgument, "a memory limit of {} bytes, expected more than 0",
                options.memory_bytes_max);
  }
  auto state = std::make_unique<State>(std::move(prepared), options);
  RunControl control({.cancel = options.cancel});
  COMMENSAL_TRY(state->under(control, [&] { return state->prepare(); }));
  return Session(std::move(state));
}

Result<std::vector<Value>> Session::run_values(std::span<const Value> inputs,
                                               const RunOptions& options) {
  return state_->run(*state_->prepared, inputs, options);
}

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs,
                                         const RunOptions& options) {
  return state_->run(*state_->prepared, inputs, options);
}

Result<std::vector<Tensor>> Session::run_other(Prepared& other, std::span<const Tensor> inputs,
                                               const RunOptions& options) {
  return state_->run(other, inputs, options);
}

Result<void> check_inputs(const Graph& graph, std::span<const Value> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    std::string expected;
    for (const ValueId id : graph.inputs) {
      const ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
      expected +=
          fmt::format("{}{} {}", expected.empty() ? "" : ", ", value.name, value.declared.text());
    }
    return fail(ErrorCode::kInvalidArgument, "{} inputs, expected {}: {}", inputs.size(),
                graph.inputs.size(), expected);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo& value = graph.values[static_cast<std::size_t>(graph.inputs[i])];
    if (!value.declared.admits(inputs[i])) {
      return fail(ErrorCode::kInvalidArgument, "input '{}' is {}, expected {}", value.name,
                  inputs[i].text(), value.declared.text());
    }
  }
  return {};
}

}  // namespace commensal::graph
