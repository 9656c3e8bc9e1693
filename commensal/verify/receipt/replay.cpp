// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/number.hpp>
#include <commensal/verify/noise/targets.hpp>
#include <commensal/verify/receipt/shown.hpp>

namespace commensal::receipt {
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

std::string expected_inputs(const graph::Graph& graph) {
  std::string text;
  for (const graph::ValueId id : graph.inputs) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", value.name, value.declared.text());
  }
  return text;
}

Result<void> check_named(const protocol::Job& job, const crypto::Address& provider) {
  COMMENSAL_TRY(job.validity());
  if (job.provider == provider) return {};
  return fail(ErrorCode::kFailedPrecondition, "the job names another provider, {}",
              crypto::to_text(job.provider));
}

Result<void> check_opened(const protocol::Job& job, const Digest& input_salt,
                          const tensor::NamedTensors& inputs) {
  if (protocol::commit_input(state_root(inputs), input_salt) == job.input_commitment) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "the inputs are not those that the job was made with");
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
  return state_root(name_tensors(graph, graph.outputs, outputs));
}

tensor::NamedTensors name_tensors(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                                  std::vector<tensor::Tensor> values) {
  core::check(ids.size() == values.size(), "one value for each id");
  tensor::NamedTensors named;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    named.push_back({graph.name_of(ids[i]), std::move(values[i])});
  }
  return named;
}

Result<Values> order_inputs(const graph::Graph& graph, const tensor::NamedTensors& tensors) {
  Values ordered;
  for (const graph::ValueId id : graph.inputs) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& item) {
      return item.name == graph.name_of(id);
    });
    if (found == tensors.end()) {
      return fail(ErrorCode::kInvalidArgument, "input '{}' is missing; expected {}",
                  graph.name_of(id), expected_inputs(graph));
    }
    ordered.push_back(found->value);
  }
  if (tensors.size() != ordered.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} inputs, expected {}: {}", tensors.size(),
                ordered.size(), expected_inputs(graph));
  }
  return ordered;
}

Result<Values> task_inputs(const StepTask& task, const graph::Graph& graph) {
  COMMENSAL_ASSIGN(const Values inputs, order_inputs(graph, task.inputs));
  if (task.step == 1) return inputs;
  COMMENSAL_ASSIGN(const Values before, order_outputs(graph, task.outputs_before));
  return inputs_of_step(task.job, inputs, &before);
}

Result<Digest> input_root_of(const StepTask& task) {
  COMMENSAL_ASSIGN(const tensor::NamedTensors given, step_inputs(task));
  return state_root(given);
}

Result<void> check_model(const protocol::Job& job, const ModelRoots& roots) {
  if (job.numerics_version != kernels::kNumericsVersion) {
    return fail(ErrorCode::kFailedPrecondition,
                "the job follows version {} of the numeric specification, this program version {}",
                job.numerics_version, kernels::kNumericsVersion);
  }
  if (roots != ModelRoots{job.graph_root, job.weight_root}) {
    return fail(ErrorCode::kFailedPrecondition, "the model is not the one that the job names");
  }
  return {};
}

Result<void> check_parties(const protocol::Job& job, const Digest& input_salt,
                           const tensor::NamedTensors& inputs, const crypto::Address& provider) {
  COMMENSAL_TRY(check_named(job, provider));
  return check_opened(job, input_salt, inputs);
}

Result<Values> check_job(const protocol::Job& job, const Digest& input_salt,
                         const tensor::NamedTensors& inputs, const crypto::Address& provider,
                         const graph::Graph& graph, const ModelRoots& roots) {
  COMMENSAL_TRY(check_named(job, provider));
  if (job.kind == protocol::JobKind::kAnswer &&
      (job.steps != 1 || job.noise != protocol::NoisePolicy::kNone || !job.feeds.empty() ||
       job.states != protocol::StateRule::kAny)) {
    return fail(ErrorCode::kUnsupported,
                "expected a job of one step without noise, rule of states and feeds");
  }
  if (job.steps > limits::kRolloutStepsMax) {
    return fail(ErrorCode::kResourceExhausted, "a rollout of {} steps, at most {} are accepted",
                job.steps, limits::kRolloutStepsMax);
  }
  COMMENSAL_TRY(check_model(job, roots));
  COMMENSAL_TRY(noise::check_feeds(graph, job.feeds));
  COMMENSAL_ASSIGN(Values ordered, order_inputs(graph, inputs));
  // In the graph's order, so that an arbiter without the model knows which input is fed.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == graph.name_of(graph.inputs[i])) continue;
    return fail(ErrorCode::kInvalidArgument, "the inputs are not in the model's order");
  }
  COMMENSAL_TRY(check_opened(job, input_salt, inputs));
  return ordered;
}

Result<Digest> replay(const StepTask& task, const graph::Graph& graph, const ModelRoots& roots,
                      const Compute& compute) {
  COMMENSAL_TRY(check_model(task.job, roots));
  COMMENSAL_TRY(check_task(task));
  COMMENSAL_ASSIGN(const Values given, task_inputs(task, graph));
  const auto noise = noise_of_step(task.job, protocol::job_id(task.job), task.step, task.value);
  const auto outputs = compute(given, noise);
  if (outputs) return outputs_root(graph, *outputs);
  // That a model refuses its inputs is a result like any other: whoever answered has not run it.
  // That a replay has more to do than it may is none: another plan of the same graph may have less.
  if (outputs.error().code == ErrorCode::kInvalidArgument) return kRefused;
  return tl::unexpected(outputs.error());
}

Result<Digest> replay(const StepTask& task, noise::NoisySession& session, const ModelRoots& roots,
                      const graph::RunOptions& options) {
  COMMENSAL_TRY(check_model(task.job, roots));
  if (session.feeds() != task.job.feeds) {
    return fail(ErrorCode::kFailedPrecondition, "the session feeds back other outputs");
  }
  return replay(task, session.graph(), roots,
                [&](const Values& given, const std::optional<noise::Noise>& noise) {
                  return session.run(given, noise, options);
                });
}

protocol::Verdict judge(const protocol::ReceiptBody& body, const core::Digest& replayed_root,
                        const core::Digest& output_salt, const crypto::SecretKey& auditor) {
  protocol::Verdict verdict;
  verdict.receipt_id = protocol::receipt_id(body);
  verdict.expected_commitment = body.commitment;
  verdict.recomputed_commitment =
      protocol::commit_step(body.job_id, body.step, replayed_root, output_salt);
  const bool same = verdict.recomputed_commitment == verdict.expected_commitment;
  verdict.outcome = same ? protocol::Outcome::kMatch : protocol::Outcome::kMismatch;
  verdict.reason = same ? "re-executed to the same bits"
                        : "re-executed to other bits than the provider committed to";
  return protocol::sign_verdict(auditor, std::move(verdict));
}

Result<Recheck> recheck(const protocol::Receipt& receipt, const Opening& opening,
                        const std::shared_ptr<const graph::Graph>& model,
                        const graph::SessionOptions& options,
                        const std::function<void(std::string_view)>& passed) {
  COMMENSAL_TRY(check_shown(receipt, opening, passed));
  const protocol::ReceiptBody body = receipt.body();
  COMMENSAL_ASSIGN(auto session, noise::NoisySession::create(model, options, receipt.job.feeds));
  COMMENSAL_ASSIGN(const Digest root, replay(opening.task, session, model_roots(*model)));
  passed("graph and weights are those of the job; re-executed");
  return Recheck{
      .receipt = protocol::receipt_id(body),
      .expected = receipt.commitment,
      .recomputed = protocol::commit_step(body.job_id, body.step, root, opening.output_salt)};
}

}  // namespace commensal::receipt
