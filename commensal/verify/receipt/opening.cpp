// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::receipt {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;
using core::Result;

Result<void> check_before(const StepTask& task) {
  if (task.step == 1) {
    if (!task.before && task.outputs_before.empty() && task.salt_before == Digest{}) return {};
    return fail(ErrorCode::kInvalidArgument, "step 1 has none before it, but the task shows one");
  }
  if (!task.before) {
    return fail(ErrorCode::kInvalidArgument, "step {}: the task lacks the step before it",
                task.step);
  }
  const protocol::Receipt& before = *task.before;
  if (!(before.job == task.job) || before.step != task.step - 1) {
    return fail(ErrorCode::kInvalidArgument, "step {}: the receipt before it is of another step",
                task.step);
  }
  const protocol::ReceiptBody body = before.body();
  COMMENSAL_TRY(protocol::verify_receipt(before, body, protocol::kEmbeddedLedger, nullptr));
  const Digest root = state_root(task.outputs_before);
  if (protocol::commit_step(body.job_id, before.step, root, task.salt_before) !=
      before.commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the state before does not open c_{}", task.step,
                before.step);
  }
  return {};
}

}  // namespace

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
  const bool has_noise = task.job.noise != protocol::NoisePolicy::kNone;
  if (has_noise ? beacon::hash_back(task.value, task.step) != task.job.noise_anchor
                : task.value != Digest{}) {
    return fail(ErrorCode::kDataLoss, "step {}: the noise's value does not lead to its anchor",
                task.step);
  }
  if (protocol::commit_input(state_root(task.inputs), task.input_salt) !=
      task.job.input_commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the inputs do not open c_0", task.step);
  }
  return check_before(task);
}

Result<void> check_opening(const Opening& opening, const protocol::ReceiptBody& body) {
  const auto refuse = [](std::string_view what) {
    return fail(ErrorCode::kDataLoss, "the opening does not open the receipt: {}", what);
  };
  if (protocol::job_id(opening.task.job) != body.job_id) return refuse("it is of another job");
  if (opening.task.step != body.step) return refuse("it is of another step");
  COMMENSAL_TRY(check_task(opening.task));
  if (protocol::commit_step(body.job_id, body.step, state_root(opening.outputs),
                            opening.output_salt) != body.commitment) {
    return refuse(fmt::format("its outputs are not those that step {} committed to", body.step));
  }
  return {};
}

std::uint64_t element_bytes(const tensor::NamedTensors& tensors) {
  std::uint64_t bytes = 0;
  for (const tensor::NamedTensor& one : tensors) bytes += one.value.bytes().size();
  return bytes;
}

core::Result<void> fits(const tensor::NamedTensors& inputs, const tensor::NamedTensors& outputs,
                        std::uint64_t bytes_max) {
  const std::uint64_t bytes = element_bytes(inputs) + element_bytes(outputs);
  // Job, receipts and names, in a row of the usual size.
  const std::uint64_t beside = std::min<std::uint64_t>(limits::kNounBytesMax, bytes_max / 2);
  if (bytes <= bytes_max - beside) return {};
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "inputs and outputs of {} bytes, at most {} are kept with a receipt", bytes,
                    bytes_max - beside);
}

core::Result<void> check_assignment(const Assignment& given) {
  COMMENSAL_TRY(protocol::verify_receipt(given.receipt));
  const bool fits = protocol::job_id(given.task.job) == protocol::job_id(given.receipt.job) &&
                    given.task.step == given.receipt.step;
  if (fits) return {};
  return core::fail(core::ErrorCode::kDataLoss, "the task is not that of the receipt");
}

}  // namespace commensal::receipt
