// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/number.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/step.hpp>

namespace commensal::rollout {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Tensor;

struct FloatFormat {
  DType dtype;
  int digits;  // of the significand, the hidden one included
};
constexpr FloatFormat kFormats[] = {
    {DType::kFloat32, 24}, {DType::kFloat64, 53}, {DType::kFloat16, 11}, {DType::kBfloat16, 8}};

/// The first element whose magnitude is not below `bound`; -1 where there is none.
std::int64_t first_beyond(const Tensor& tensor, double bound) {
  std::int64_t found = -1;
  tensor::with_type(tensor.dtype(), [&]<class T>() {
    const auto elements = tensor.data<T>();
    const auto at = std::ranges::find_if(
        elements, [&](const T& x) { return !(std::abs(noise::number(x)) < bound); });
    if (at != elements.end()) found = at - elements.begin();
  });
  return found;
}

Result<void> check_before(const StepTask& task, const Digest& job_id) {
  if (task.step == 1) {
    if (!task.signed_before && task.outputs_before.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, "step 1 has none before it, but the task shows one");
  }
  if (!task.signed_before) {
    return fail(ErrorCode::kInvalidArgument, "step {}: the task lacks the step before it",
                task.step);
  }
  const Signed& before = *task.signed_before;
  const protocol::ReceiptBody body{job_id, task.step - 1, before.commitment, before.round};
  COMMENSAL_TRY(protocol::verify_batch_signature(before.provider, body, protocol::Role::kProvider,
                                                 task.job.provider));
  COMMENSAL_TRY(protocol::verify_batch_signature(before.client, body, protocol::Role::kClient,
                                                 task.job.client));
  const Digest root = receipt::state_root(task.outputs_before);
  if (protocol::commit_step(job_id, task.step - 1, root, task.salt_before) != before.commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the state before does not open c_{}", task.step,
                task.step - 1);
  }
  return {};
}

/// The outputs of a step in the graph's order.
Result<Values> order_outputs(const graph::Graph& graph, const tensor::NamedTensors& named) {
  Values values;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (i >= graph.outputs.size() || named[i].name != graph.name_of(graph.outputs[i])) {
      return fail(ErrorCode::kInvalidArgument, "output {} is '{}', not an output of the model", i,
                  named[i].name);
    }
    values.push_back(named[i].value);
  }
  COMMENSAL_TRY(check_outputs(graph, values));
  return values;
}

/// inputs_of_step() by the task's own names. Error: kInvalidArgument.
Result<tensor::NamedTensors> fed(const StepTask& task) {
  tensor::NamedTensors given = task.inputs;
  if (task.step == 1) return given;
  for (const protocol::Feed& feed : task.job.feeds) {
    if (feed.input >= given.size() || feed.output >= task.outputs_before.size()) {
      return fail(ErrorCode::kInvalidArgument, "step {}: no output {} or no input {} to feed it to",
                  task.step, feed.output, feed.input);
    }
    given[feed.input].value = task.outputs_before[feed.output].value;
  }
  return given;
}

/// noise::noisy_inputs, without a graph.
bool takes_noise(const protocol::Job& job, std::uint32_t place) {
  return job.feeds.empty() ||
         std::ranges::find(job.feeds, place, &protocol::Feed::input) != job.feeds.end();
}

}  // namespace

Values inputs_of_step(const protocol::Job& job, const Values& inputs, const Values* previous) {
  Values made = inputs;
  if (previous == nullptr) return made;
  for (const protocol::Feed& feed : job.feeds) made[feed.input] = (*previous)[feed.output];
  return made;
}

std::optional<noise::Noise> noise_of_step(const protocol::Job& job, const Digest& job_id,
                                          std::uint64_t step, const Digest& value) {
  if (job.noise == protocol::NoisePolicy::kNone) return std::nullopt;
  return noise::Noise{noise::seed_of(value, job_id, step), job.noise_exponent};
}

Result<void> check_state(const protocol::Job& job, const graph::Graph& graph, std::uint64_t step,
                         const Values& outputs) {
  if (job.states == protocol::StateRule::kAny) return {};
  const bool is_movable = job.states == protocol::StateRule::kMovable;
  for (const protocol::Feed& feed : job.feeds) {
    const Tensor& state = outputs[feed.output];
    const auto* format = std::ranges::find(kFormats, state.dtype(), &FloatFormat::dtype);
    if (format == std::end(kFormats)) continue;
    const double bound = is_movable ? std::ldexp(1.0, format->digits - job.noise_exponent)
                                    : std::numeric_limits<double>::infinity();
    const std::int64_t beyond = first_beyond(state, bound);
    if (beyond < 0) continue;
    return fail(ErrorCode::kInvalidArgument, "step {}: element {} of state '{}' is not {}", step,
                beyond, graph.name_of(graph.outputs[feed.output]),
                is_movable ? fmt::format("below 2^{}, where noise moves it",
                                         format->digits - job.noise_exponent)
                           : std::string("finite"));
  }
  return {};
}

Result<void> check_outputs(const graph::Graph& graph, const Values& outputs) {
  if (outputs.size() != graph.outputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} outputs, expected {}", outputs.size(),
                graph.outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(graph.outputs[i])];
    if (value.declared.admits(tensor::Value(outputs[i]))) continue;
    return fail(ErrorCode::kInvalidArgument, "output '{}' is {}, expected {}", value.name,
                outputs[i].type().text(), value.declared.text());
  }
  return {};
}

Digest outputs_root(const graph::Graph& graph, const Values& outputs) {
  return receipt::state_root(receipt::name_tensors(graph, graph.outputs, outputs));
}

Result<void> check_task(const StepTask& task) {
  COMMENSAL_TRY(task.job.validity());
  if (task.step < 1 || task.step > task.job.steps) {
    return fail(ErrorCode::kInvalidArgument, "step {}, expected 1 to {}", task.step,
                task.job.steps);
  }
  if (task.step > limits::kRolloutStepsMax) {
    return fail(ErrorCode::kResourceExhausted, "step {}, at most {} are accepted", task.step,
                limits::kRolloutStepsMax);
  }
  if (task.job.noise != protocol::NoisePolicy::kNone &&
      beacon::hash_back(task.value, task.step) != task.job.noise_anchor) {
    return fail(ErrorCode::kDataLoss, "step {}: the noise's value does not lead to its anchor",
                task.step);
  }
  if (protocol::commit_input(receipt::state_root(task.inputs), task.input_salt) !=
      task.job.input_commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the inputs do not open c_0", task.step);
  }
  return check_before(task, protocol::job_id(task.job));
}

Result<Values> task_inputs(const StepTask& task, const graph::Graph& graph) {
  COMMENSAL_ASSIGN(const Values inputs, receipt::order_inputs(graph, task.inputs));
  if (task.step == 1) return inputs;
  COMMENSAL_ASSIGN(const Values before, order_outputs(graph, task.outputs_before));
  return inputs_of_step(task.job, inputs, &before);
}

Result<Digest> input_root_of(const StepTask& task) {
  COMMENSAL_TRY(check_task(task));
  COMMENSAL_ASSIGN(tensor::NamedTensors given, fed(task));
  const auto noise = noise_of_step(task.job, protocol::job_id(task.job), task.step, task.value);
  if (!noise) return receipt::state_root(given);
  bool is_moved = false;
  for (std::uint32_t place = 0; place < given.size(); ++place) {
    Tensor& value = given[place].value;
    if (!takes_noise(task.job, place) || !noise::is_disturbable(value.dtype())) continue;
    COMMENSAL_ASSIGN(value, noise::add(value, noise->seed, place, noise->exponent));
    is_moved = true;
  }
  if (is_moved) return receipt::state_root(given);
  return fail(ErrorCode::kUnsupported, "step {}: its noise goes onto a value inside the graph",
              task.step);
}

Result<Digest> replay(const StepTask& task, noise::NoisySession& session,
                      const receipt::ModelRoots& roots, graph::Tracer* tracer) {
  COMMENSAL_TRY(receipt::check_model(task.job, roots));
  if (session.feeds() != task.job.feeds) {
    return fail(ErrorCode::kFailedPrecondition, "the session feeds back other outputs");
  }
  COMMENSAL_TRY(check_task(task));
  const graph::Graph& graph = session.graph();
  COMMENSAL_ASSIGN(const Values given, task_inputs(task, graph));
  const auto noise = noise_of_step(task.job, protocol::job_id(task.job), task.step, task.value);
  COMMENSAL_ASSIGN(const auto outputs, session.run(given, noise, tracer));
  return outputs_root(graph, outputs);
}

}  // namespace commensal::rollout
