// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/origin.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::receipt {
using core::ErrorCode;
using core::fail;
using core::Result;

Result<void> check_task(const StepTask& task) {
  return check_origin(roots_of(task), task.job, task.step);
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
  for (const tensor::NamedTensor& one : tensors)
    bytes += static_cast<std::uint64_t>(tensor::held_bytes(one.value));
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
  if (!fits) return core::fail(core::ErrorCode::kDataLoss, "the task is not that of the receipt");
  const bool is_of_it =
      !given.report || given.report->receipt_id == protocol::receipt_id(given.receipt.body());
  if (is_of_it) return {};
  return core::fail(core::ErrorCode::kDataLoss, "the report is not about the receipt");
}

}  // namespace commensal::receipt
