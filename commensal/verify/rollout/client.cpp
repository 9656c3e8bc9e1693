// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/client.hpp>

namespace commensal::rollout {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

protocol::Receipt receipt_of(const protocol::Job& job, const StepRecord& record) {
  return {job,
          record.step,
          record.body.commitment,
          record.body.round,
          record.body.provider,
          record.body.client};
}

}  // namespace

beacon::HashChain noise_chain(const core::Digest& key, std::uint64_t steps) {
  core::check(steps >= 1 && steps <= limits::kRolloutStepsMax, "a rollout has 1 to 2^20 steps");
  const int depth = std::max(1, static_cast<int>(std::bit_width(steps - 1)));
  return beacon::HashChain::make(key, depth);
}

RolloutClient::RolloutClient(const Dependencies& deps, RolloutRecord record,
                             const core::Digest& job_id)
    : deps_(deps), record_(std::move(record)), job_id_(job_id), rows_(deps.store, job_id) {}

Result<void> RolloutClient::check_record() {
  const protocol::Job& job = record_.job;
  COMMENSAL_TRY(job.validity());
  if (job.client != deps_.key.address()) {
    return fail(ErrorCode::kInvalidArgument, "the job names another client, {}",
                crypto::to_text(job.client));
  }
  if (job.steps > limits::kRolloutStepsMax) {
    return fail(ErrorCode::kResourceExhausted, "a rollout of {} steps, at most {} are accepted",
                job.steps, limits::kRolloutStepsMax);
  }
  if (job.noise == protocol::NoisePolicy::kNone) return {};
  noise_ = noise_chain(deps_.noise_key, job.steps);
  if (noise_->anchor() == job.noise_anchor) return {};
  return fail(ErrorCode::kInvalidArgument, "the noise key is not the one of the job's anchor");
}

Result<RolloutClient> RolloutClient::start(const Dependencies& deps, const RolloutRecord& record) {
  RolloutClient made(deps, record, protocol::job_id(record.job));
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_TRY(made.rows_.put(record));
  return made;
}

Result<RolloutClient> RolloutClient::load(const Dependencies& deps, const core::Digest& job_id) {
  COMMENSAL_ASSIGN(RolloutRecord record, RolloutRows(deps.store, job_id).rollout());
  RolloutClient made(deps, std::move(record), job_id);
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_ASSIGN(const std::uint64_t step, made.rows_.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(StepRecord last, made.rows_.step(step));
  COMMENSAL_TRY(made.resume(std::move(last)));
  return made;
}

Result<void> RolloutClient::resume(StepRecord last) {
  if (last.phase == StepPhase::kDelivered) {
    for (const auto& item : last.outputs) outputs_.push_back(item.value);
  } else {
    step_.emplace(record_.job, last.step);
    COMMENSAL_TRY(step_->commit(last.body.commitment, last.body.round, last.body.provider));
    COMMENSAL_TRY(step_->countersign(last.body.client));
    if (last.step > 1) {
      COMMENSAL_ASSIGN(const StepRecord before, rows_.step(last.step - 1));
      for (const auto& item : before.outputs) outputs_.push_back(item.value);
    }
  }
  last_ = std::move(last);
  return {};
}

bool RolloutClient::is_finished() const {
  return last_.step == record_.job.steps && last_.phase == StepPhase::kDelivered;
}

std::optional<Countersign> RolloutClient::pending() const {
  if (last_.step == 0 || last_.phase != StepPhase::kCountersigned) return std::nullopt;
  return Countersign{last_.step, last_.body.client};
}

Result<Begin> RolloutClient::begin() {
  if (pending()) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is countersigned and not delivered",
                last_.step);
  }
  if (is_finished()) {
    return fail(ErrorCode::kFailedPrecondition, "all {} steps are delivered", record_.job.steps);
  }
  Begin begin{last_.step + 1, {}};
  if (noise_) {
    COMMENSAL_ASSIGN(begin.value, noise_->reveal(begin.step));
  }
  step_.emplace(record_.job, begin.step);
  return begin;
}

Result<Countersign> RolloutClient::on_commit(const Commit& message) {
  if (!step_ || message.step != last_.step + 1 || pending()) {
    return fail(ErrorCode::kFailedPrecondition, "a commitment to step {} that was not begun",
                message.step);
  }
  StepRecord record;
  record.step = message.step;
  record.phase = StepPhase::kCountersigned;
  if (noise_) {
    COMMENSAL_ASSIGN(record.value, noise_->reveal(record.step));
  }
  record.body.commitment = message.commitment;
  record.body.round = message.round;
  record.body.provider = message.signature;
  receipt::Step step(record_.job, message.step);
  COMMENSAL_TRY(step.commit(message.commitment, message.round, message.signature));
  const protocol::ReceiptBody body = step.body();
  record.body.client = protocol::sign_batch(deps_.key, protocol::Role::kClient, {&body, 1})[0];
  COMMENSAL_TRY(step.countersign(record.body.client));
  COMMENSAL_TRY(rows_.put(record));
  step_ = std::move(step);
  last_ = std::move(record);
  return *pending();
}

Result<RolloutClient::Delivery> RolloutClient::check(const Deliver& message) const {
  if (!pending() || message.step != last_.step) {
    return fail(ErrorCode::kFailedPrecondition, "a delivery of step {} that is not awaited",
                message.step);
  }
  const graph::Graph& graph = *deps_.graph;
  Delivery made;
  for (const auto& item : message.outputs) made.outputs.push_back(item.value);
  COMMENSAL_TRY(check_outputs(graph, made.outputs));
  receipt::Step step = *step_;
  COMMENSAL_TRY(step.deliver(outputs_root(graph, made.outputs), message.output_salt));
  COMMENSAL_TRY(check_state(record_.job, graph, message.step, made.outputs));
  made.record = last_;
  made.record.phase = StepPhase::kDelivered;
  made.record.output_salt = message.output_salt;
  made.record.outputs = receipt::name_tensors(graph, graph.outputs, made.outputs);
  return made;
}

Result<void> RolloutClient::keep(Delivery delivery) {
  COMMENSAL_TRY(rows_.put(delivery.record));
  step_.reset();
  last_ = std::move(delivery.record);
  outputs_ = std::move(delivery.outputs);
  return {};
}

Result<void> RolloutClient::on_deliver(const Deliver& message) {
  COMMENSAL_ASSIGN(Delivery delivery, check(message));
  return keep(std::move(delivery));
}

Result<StepAudit> audit_of(core::Store& store, const core::Digest& job_id, std::uint64_t step) {
  RolloutRows rows(store, job_id);
  COMMENSAL_ASSIGN(const StepRecord record, rows.step(step));
  if (record.phase != StepPhase::kDelivered) {
    return fail(ErrorCode::kNotFound, "step {} is not delivered", step);
  }
  COMMENSAL_ASSIGN(RolloutRecord agreed, rows.rollout());
  StepAudit made;
  made.body = {job_id, step, record.body.commitment, record.body.round};
  made.output_salt = record.output_salt;
  made.task.job = std::move(agreed.job);
  made.task.step = step;
  made.task.value = record.value;
  made.task.input_salt = agreed.input_salt;
  made.task.inputs = std::move(agreed.inputs);
  if (step > 1) {
    COMMENSAL_ASSIGN(StepRecord before, rows.step(step - 1));
    made.task.signed_before = before.body;
    made.task.salt_before = before.output_salt;
    made.task.outputs_before = std::move(before.outputs);
  }
  return made;
}

Result<protocol::Receipt> RolloutClient::receipt(std::uint64_t step) {
  COMMENSAL_ASSIGN(const StepRecord record, rows_.step(step));
  return receipt_of(record_.job, record);
}

}  // namespace commensal::rollout
