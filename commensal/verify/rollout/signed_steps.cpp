// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/signed_steps.hpp>

namespace commensal::rollout {

using core::ErrorCode;
using core::Result;

Result<SignedSteps> SignedSteps::open(const JobRecord& record, const crypto::Address& provider,
                                      const graph::Graph& graph, const receipt::ModelRoots& roots,
                                      const std::optional<tensor::NamedTensors>& inputs) {
  COMMENSAL_TRY(receipt::check_job(record.job, record.input_salt, inputs ? *inputs : record.inputs,
                                   provider, graph, roots));
  return SignedSteps(protocol::job_id(record.job));
}

Result<SignedSteps> SignedSteps::open(const JobRecord& record, const crypto::Address& provider,
                                      const tensor::NamedTensors& inputs) {
  COMMENSAL_TRY(receipt::check_parties(record.job, record.input_salt, inputs, provider));
  return SignedSteps(protocol::job_id(record.job));
}

Result<tensor::NamedTensors> SignedSteps::outputs(const StepRecord& record,
                                                  std::uint64_t step) const {
  const auto refuse = [&](const char* why) {
    return core::fail(ErrorCode::kDataLoss, "step {} of job {}: {}", step, core::to_hex(job_), why);
  };
  if (record.step.phase() != receipt::StepPhase::kDelivered) return refuse("it is not delivered");
  if (record.step.job_id() != job_ || record.step.index() != step)
    return refuse("another one was handed out");
  const protocol::Receipt& signed_step = record.step.receipt();
  COMMENSAL_TRY(protocol::verify_receipt(signed_step));
  const core::Digest opened =
      protocol::commit_step(job_, step, receipt::state_root(record.outputs), record.output_salt);
  if (opened != signed_step.commitment) return refuse("its outputs do not open what was signed");
  return record.outputs;
}

}  // namespace commensal::rollout
