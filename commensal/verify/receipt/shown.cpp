// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/receipt/origin.hpp>
#include <commensal/verify/receipt/shown.hpp>

namespace commensal::receipt {

using core::ErrorCode;
using core::fail;
using core::Result;

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
  COMMENSAL_ASSIGN(tensor::NamedTensors given,
                   fed(task.job, task.step, task.inputs, task.outputs_before));
  const auto noise = noise_of_step(task.job, protocol::job_id(task.job), task.step, task.value);
  if (!noise) return given;
  bool is_moved = false;
  for (std::uint32_t place = 0; place < given.size(); ++place) {
    tensor::Tensor& value = given[place].value;
    if (!takes_noise(task.job, place, value.dtype())) continue;
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
