// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/provider.hpp>

namespace commensal::rollout {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

receipt::Values values_of(const tensor::NamedTensors& named) {
  receipt::Values values;
  for (const tensor::NamedTensor& item : named) values.push_back(item.value);
  return values;
}

/// A step, where one is; for people.
std::string_view state_of(const receipt::Step& step) {
  return step.index() == 0 ? "not there yet" : protocol::name_of(step.phase());
}

receipt::Commit commit_of(const receipt::Step& step) {
  const protocol::Receipt& made = step.receipt();
  return {step.job_id(), made.step, made.commitment, made.round, made.provider};
}

}  // namespace

Result<void> RolloutProvider::check() {
  COMMENSAL_ASSIGN(
      inputs_, receipt::check_job(record_.job, record_.input_salt, record_.inputs,
                                  deps_.key.address(), deps_.engine.graph(), deps_.engine.roots()));
  last_.value = record_.job.noise_anchor;
  return {};
}

Result<RolloutProvider> RolloutProvider::start(const Dependencies& deps,
                                               const RolloutRecord& record) {
  RolloutProvider made(deps, record, protocol::job_id(record.job));
  COMMENSAL_TRY(made.check());
  COMMENSAL_TRY(made.rows_.put(record));
  return made;
}

Result<RolloutProvider> RolloutProvider::load(const Dependencies& deps,
                                              const core::Digest& job_id) {
  COMMENSAL_ASSIGN(RolloutRecord record, RolloutRows(deps.store, job_id).rollout());
  RolloutProvider made(deps, std::move(record), job_id);
  COMMENSAL_TRY(made.check());
  COMMENSAL_ASSIGN(const std::uint64_t step, made.rows_.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(made.last_, made.rows_.step(step));
  made.outputs_ = values_of(made.last_.outputs);
  return made;
}

Result<std::optional<receipt::Commit>> RolloutProvider::asked(const receipt::Begin& begin) const {
  const receipt::Step& last = last_.step;
  const bool is_open = last.phase() == receipt::StepPhase::kCommitted;
  const bool is_ours = begin.job == job_id_;
  if (is_open && is_ours && begin.step == last.index() && begin.value == last_.value) {
    return commit_of(last);
  }
  if (is_open || !is_ours || begin.step != last.index() + 1 || begin.step > record_.job.steps) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is begun where step {} of {} is {}",
                begin.step, last.index(), record_.job.steps, state_of(last));
  }
  const bool has_noise = record_.job.noise != protocol::NoisePolicy::kNone;
  if (has_noise ? beacon::hash_back(begin.value, 1) != last_.value
                : begin.value != core::Digest{}) {
    return fail(ErrorCode::kDataLoss, "step {}: the noise's value does not lead to the one before",
                begin.step);
  }
  return std::nullopt;
}

Result<receipt::Commit> RolloutProvider::begin(const receipt::Begin& begin, std::uint64_t round) {
  COMMENSAL_ASSIGN(const auto made, asked(begin));
  if (made) return *made;
  COMMENSAL_ASSIGN(receipt::Values outputs, compute(begin));
  return commit(begin, round, std::move(outputs));
}

Result<receipt::Values> RolloutProvider::compute(const receipt::Begin& begin) const {
  const receipt::Values given =
      receipt::inputs_of_step(record_.job, inputs_, begin.step > 1 ? &outputs_ : nullptr);
  return deps_.engine.run(begin.step, given,
                          receipt::noise_of_step(record_.job, job_id_, begin.step, begin.value));
}

Result<receipt::Commit> RolloutProvider::commit(const receipt::Begin& begin, std::uint64_t round,
                                                receipt::Values outputs) {
  const graph::Graph& graph = deps_.engine.graph();
  COMMENSAL_TRY(receipt::check_state(record_.job, graph, begin.step, outputs));
  StepRecord record;
  record.step = receipt::Step(record_.job, begin.step);
  record.value = begin.value;
  record.output_salt = deps_.rng.next_digest();
  const core::Digest commitment = protocol::commit_step(
      job_id_, begin.step, receipt::outputs_root(graph, outputs), record.output_salt);
  record.outputs = receipt::name_tensors(graph, graph.outputs, outputs);
  COMMENSAL_ASSIGN(const receipt::Commit made, sign(std::move(record), commitment, round));
  outputs_ = std::move(outputs);
  return made;
}

Result<receipt::Commit> RolloutProvider::sign(StepRecord record, const core::Digest& commitment,
                                              std::uint64_t round) {
  const protocol::ReceiptBody body{job_id_, record.step.index(), commitment, round};
  record.step.commit_own(commitment, round,
                         protocol::sign_batch(deps_.key, protocol::Role::kProvider, {&body, 1})[0]);
  COMMENSAL_TRY(rows_.put(record));
  last_ = std::move(record);
  return commit_of(last_.step);
}

Result<receipt::Commit> RolloutProvider::sign_again(std::uint64_t round) {
  if (last_.step.phase() != receipt::StepPhase::kCommitted) {
    return fail(ErrorCode::kFailedPrecondition, "step {} waits for no signature of the client",
                last_.step.index());
  }
  return sign(last_, last_.step.receipt().commitment, round);
}

Result<receipt::Deliver> RolloutProvider::countersign(const receipt::Countersign& message) {
  if (message.step != last_.step.index() || message.step == 0 || message.job != job_id_) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is countersigned where step {} is {}",
                message.step, last_.step.index(), state_of(last_.step));
  }
  if (last_.step.phase() == receipt::StepPhase::kCommitted) {
    StepRecord record = last_;
    COMMENSAL_TRY(record.step.countersign(message.signature));
    COMMENSAL_TRY(rows_.put(record));
    last_ = std::move(record);
  }
  return receipt::Deliver{job_id_, message.step, last_.output_salt, last_.outputs};
}

Result<std::vector<NodeRoot>> RolloutProvider::trace(std::uint64_t step) {
  COMMENSAL_ASSIGN(const StepRecord record, rows_.step(step));
  receipt::Values before;
  if (step > 1) {
    COMMENSAL_ASSIGN(const StepRecord earlier, rows_.step(step - 1));
    before = values_of(earlier.outputs);
  }
  NodeRoots roots;
  COMMENSAL_TRY(deps_.engine.run(
      step, receipt::inputs_of_step(record_.job, inputs_, step > 1 ? &before : nullptr),
      receipt::noise_of_step(record_.job, job_id_, step, record.value), &roots));
  return roots.roots();
}

}  // namespace commensal::rollout
