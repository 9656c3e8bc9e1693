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

beacon::HashChain noise_chain(const core::Digest& key, std::uint64_t steps) {
  core::check(steps >= 1 && steps <= limits::kRolloutStepsMax, "a rollout has 1 to 2^20 steps");
  const int depth = std::max(1, static_cast<int>(std::bit_width(steps - 1)));
  return beacon::HashChain::make(key, depth);
}

ClientJob::ClientJob(const Dependencies& deps, JobRecord record, const core::Digest& job_id)
    : deps_(deps), record_(std::move(record)), job_id_(job_id), rows_(deps.store, job_id) {}

Result<void> ClientJob::check_record() {
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

Result<ClientJob> ClientJob::start(const Dependencies& deps, const JobRecord& record) {
  ClientJob made(deps, record, protocol::job_id(record.job));
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_TRY(made.rows_.put(record));
  return made;
}

Result<ClientJob> ClientJob::load(const Dependencies& deps, const core::Digest& job_id) {
  COMMENSAL_ASSIGN(JobRecord record, JobRows(deps.store, job_id).rollout());
  ClientJob made(deps, std::move(record), job_id);
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_ASSIGN(const std::uint64_t step, made.rows_.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(made.last_, made.rows_.step(step));
  const bool is_delivered = made.last_.step.phase() == receipt::StepPhase::kDelivered;
  if (!is_delivered && step == 1) return made;
  COMMENSAL_ASSIGN(const StepRecord delivered, made.rows_.step(is_delivered ? step : step - 1));
  for (const auto& item : delivered.outputs) made.outputs_.push_back(item.value);
  return made;
}

bool ClientJob::is_finished() const {
  return last_.step.index() == record_.job.steps &&
         last_.step.phase() == receipt::StepPhase::kDelivered;
}

std::optional<receipt::Countersign> ClientJob::pending() const {
  if (last_.step.phase() != receipt::StepPhase::kCountersigned) return std::nullopt;
  return receipt::Countersign{job_id_, last_.step.index(), last_.step.receipt().client};
}

Result<receipt::Begin> ClientJob::begin() {
  if (pending()) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is countersigned and not delivered",
                last_.step.index());
  }
  if (is_finished()) {
    return fail(ErrorCode::kFailedPrecondition, "all {} steps are delivered", record_.job.steps);
  }
  receipt::Begin begin{job_id_, last_.step.index() + 1, {}};
  if (noise_) {
    COMMENSAL_ASSIGN(begin.value, noise_->reveal(begin.step));
  }
  begun_ = begin.step;
  return begin;
}

Result<receipt::Countersign> ClientJob::on_commit(const receipt::Commit& message) {
  if (begun_ == 0 || message.step != begun_ || message.job != job_id_) {
    return fail(ErrorCode::kFailedPrecondition, "a commitment to step {} that was not begun",
                message.step);
  }
  StepRecord record;
  if (noise_) {
    COMMENSAL_ASSIGN(record.value, noise_->reveal(message.step));
  }
  receipt::Step& step = record.step = receipt::Step(record_.job, message.step);
  COMMENSAL_TRY(step.commit(message.commitment, message.round, message.signature));
  const protocol::ReceiptBody body = step.body();
  COMMENSAL_TRY(
      step.countersign(protocol::sign_batch(deps_.key, protocol::Role::kClient, {&body, 1})[0]));
  COMMENSAL_TRY(rows_.put(record));
  begun_ = 0;
  last_ = std::move(record);
  return *pending();
}

Result<ClientJob::Delivery> ClientJob::check(const receipt::Deliver& message) const {
  if (!pending() || message.step != last_.step.index() || message.job != job_id_) {
    return fail(ErrorCode::kFailedPrecondition, "a delivery of step {} that is not awaited",
                message.step);
  }
  const graph::Graph& graph = *deps_.graph;
  Delivery made{.record = last_, .outputs = {}};
  for (const auto& item : message.outputs) made.outputs.push_back(item.value);
  COMMENSAL_TRY(receipt::check_outputs(graph, made.outputs));
  COMMENSAL_TRY(
      made.record.step.deliver(receipt::outputs_root(graph, made.outputs), message.output_salt));
  COMMENSAL_TRY(receipt::check_state(record_.job, graph, message.step, made.outputs));
  made.record.output_salt = message.output_salt;
  made.record.outputs = receipt::name_tensors(graph, graph.outputs, made.outputs);
  return made;
}

Result<void> ClientJob::keep(Delivery delivery) {
  COMMENSAL_TRY(rows_.put(delivery.record));
  last_ = std::move(delivery.record);
  outputs_ = std::move(delivery.outputs);
  return {};
}

Result<void> ClientJob::on_deliver(const receipt::Deliver& message) {
  COMMENSAL_ASSIGN(Delivery delivery, check(message));
  return keep(std::move(delivery));
}

Result<protocol::Receipt> ClientJob::receipt(std::uint64_t step) {
  COMMENSAL_ASSIGN(const StepRecord record, rows_.step(step));
  return record.step.receipt();
}

}  // namespace commensal::rollout
