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
    : deps_(deps), record_(std::move(record)), job_id_(job_id) {}

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

Result<ClientJob> ClientJob::start(const Dependencies& deps, JobRecord record) {
  const core::Digest id = protocol::job_id(record.job);
  ClientJob made(deps, std::move(record), id);
  COMMENSAL_TRY(made.check_record());
  if (deps.store != nullptr) COMMENSAL_TRY(JobRows(*deps.store, id).put(made.record_));
  return made;
}

Result<ClientJob> ClientJob::load(const Dependencies& deps, const core::Digest& job_id) {
  JobRows rows(*deps.store, job_id);
  COMMENSAL_ASSIGN(JobRecord record, rows.rollout());
  ClientJob made(deps, std::move(record), job_id);
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_ASSIGN(const std::uint64_t step, rows.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(made.last_, rows.step(step));
  const bool is_delivered = made.last_.step.phase() == receipt::StepPhase::kDelivered;
  if (!is_delivered && step == 1) return made;
  COMMENSAL_ASSIGN(const StepRecord delivered, rows.step(is_delivered ? step : step - 1));
  for (const auto& item : delivered.outputs) made.outputs_.push_back(item.value);
  made.root_ = receipt::state_root(delivered.outputs);
  return made;
}

std::uint64_t ClientJob::delivered() const {
  const bool is_delivered = last_.step.phase() == receipt::StepPhase::kDelivered;
  const std::uint64_t last = last_.step.index();
  return is_delivered || last == 0 ? last : last - 1;
}

Result<void> ClientJob::put(const StepRecord& record) {
  return deps_.store == nullptr ? Result<void>() : JobRows(*deps_.store, job_id_).put(record);
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

Result<protocol::ReceiptBody> ClientJob::commit(const receipt::Commit& message,
                                                protocol::KnownSignatures* known) {
  if (begun_ == 0 || message.step != begun_ || message.job != job_id_) {
    return fail(ErrorCode::kFailedPrecondition, "a commitment to step {} that was not begun",
                message.step);
  }
  StepRecord record;
  if (noise_) {
    COMMENSAL_ASSIGN(record.value, noise_->reveal(message.step));
  }
  record.step = receipt::Step(record_.job, message.step);
  COMMENSAL_TRY(record.step.commit(message.commitment, message.round, message.signature, known));
  signed_ = std::move(record);
  return signed_.step.body();
}

const protocol::Receipt& ClientJob::countersign(const protocol::BatchSignature& signature,
                                                protocol::KnownSignatures* known) {
  const auto moved = signed_.step.countersign(signature, known);
  core::check(moved.has_value(), "a client accepts its own signature");
  return signed_.step.receipt();
}

Result<void> ClientJob::keep_signature() {
  COMMENSAL_TRY(put(signed_));
  begun_ = 0;
  last_ = std::exchange(signed_, {});
  return {};
}

Result<receipt::Countersign> ClientJob::on_commit(const receipt::Commit& message) {
  COMMENSAL_ASSIGN(const protocol::ReceiptBody body, commit(message));
  countersign(protocol::sign_batch(deps_.key, protocol::Role::kClient, {&body, 1})[0]);
  COMMENSAL_TRY(keep_signature());
  return *pending();
}

Result<ClientJob::Delivery> ClientJob::check(const receipt::Deliver& message) const {
  if (!pending() || message.step != last_.step.index() || message.job != job_id_) {
    return fail(ErrorCode::kFailedPrecondition, "a delivery of step {} that is not awaited",
                message.step);
  }
  const graph::Graph& graph = *deps_.graph;
  Delivery made{.record = last_, .root = {}};
  receipt::Values outputs;
  for (const auto& item : message.outputs) outputs.push_back(item.value);
  COMMENSAL_TRY(receipt::check_outputs(graph, outputs));
  StepRecord& record = made.record;
  record.outputs = receipt::name_tensors(graph, graph.outputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) record.outputs[i].root = message.outputs[i].root;
  record.output_salt = message.output_salt;
  made.root = receipt::taken_root(record.outputs);
  COMMENSAL_TRY(record.step.deliver(made.root, record.output_salt));
  return made;
}

Result<void> ClientJob::check_state(const Delivery& delivery) const {
  receipt::Values outputs;
  for (const auto& item : delivery.record.outputs) outputs.push_back(item.value);
  return receipt::check_state(record_.job, *deps_.graph, delivery.record.step.index(), outputs);
}

Result<void> ClientJob::keep(const Delivery& delivery) {
  const auto kept = put(delivery.record);
  if (!kept && kept.error().code != ErrorCode::kNotFound) return kept;
  last_ = delivery.record;
  root_ = delivery.root;
  outputs_.clear();
  for (const auto& item : last_.outputs) outputs_.push_back(item.value);
  return {};
}

Result<void> ClientJob::on_deliver(const receipt::Deliver& message) {
  COMMENSAL_ASSIGN(const Delivery delivery, check(message));
  COMMENSAL_TRY(check_state(delivery));
  return keep(delivery);
}

receipt::Opening ClientJob::opening_of(const Delivery& delivery) const {
  core::check(record_.job.steps == 1, "a job of several steps is opened out of the store");
  receipt::Opening made;
  made.task.job = record_.job;
  made.task.value = delivery.record.value;
  made.task.input_salt = record_.input_salt;
  made.task.inputs = record_.inputs;
  made.output_salt = delivery.record.output_salt;
  made.outputs = delivery.record.outputs;
  return made;
}

Result<receipt::Opening> ClientJob::opening(std::uint64_t step) const {
  core::check(deps_.store != nullptr, "steps of a job that is kept");
  return rollout::opening_of(*deps_.store, job_id_, step);
}

Result<protocol::Receipt> ClientJob::receipt(std::uint64_t step) const {
  core::check(deps_.store != nullptr, "steps of a job that is kept");
  COMMENSAL_ASSIGN(const StepRecord record, JobRows(*deps_.store, job_id_).step(step));
  return record.step.receipt();
}

}  // namespace commensal::rollout
