// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/receipt/shown.hpp>

namespace commensal::receipt {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

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

Result<void> check_shown(const protocol::Receipt& receipt, const Opening& opening,
                         const Passed& passed) {
  COMMENSAL_TRY(protocol::verify_receipt(receipt));
  passed("provider and client have signed the receipt");
  COMMENSAL_TRY(check_opening(opening, receipt.body()));
  passed("inputs and outputs open what was signed");
  return {};
}

Result<tensor::NamedTensors> step_inputs(const StepTask& task) {
  COMMENSAL_TRY(check_task(task));
  COMMENSAL_ASSIGN(tensor::NamedTensors given, fed(task));
  const auto noise = noise_of_step(task.job, protocol::job_id(task.job), task.step, task.value);
  if (!noise) return given;
  bool is_moved = false;
  for (std::uint32_t place = 0; place < given.size(); ++place) {
    tensor::Tensor& value = given[place].value;
    if (!takes_noise(task.job, place) || !noise::is_disturbable(value.dtype())) continue;
    COMMENSAL_ASSIGN(value, noise::add(value, noise->seed, place, noise->exponent));
    is_moved = true;
  }
  if (is_moved) return given;
  return fail(ErrorCode::kUnsupported, "step {}: its noise goes onto a value inside the graph",
              task.step);
}

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

}  // namespace commensal::receipt
