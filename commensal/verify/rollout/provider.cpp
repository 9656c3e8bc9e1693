// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
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

protocol::BatchSignature sign(const crypto::SecretKey& key, const protocol::ReceiptBody& body) {
  return protocol::sign_batch(key, protocol::Role::kProvider, {&body, 1})[0];
}

}  // namespace

ProviderJob::ProviderJob(const Dependencies& deps, JobRecord record)
    : deps_(deps), record_(std::move(record)), job_id_(protocol::job_id(record_.job)) {
  last_.value = record_.job.noise_anchor;
}

Result<ProviderJob> ProviderJob::load(const Dependencies& deps, const core::Digest& job_id) {
  JobRows rows(*deps.store, job_id);
  COMMENSAL_ASSIGN(JobRecord record, rows.rollout());
  ProviderJob made(deps, std::move(record));
  made.is_stored_ = true;
  COMMENSAL_ASSIGN(const std::uint64_t step, rows.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(made.last_, rows.step(step));
  return made;
}

Result<std::optional<receipt::Commit>> ProviderJob::asked(const receipt::Begin& begin) const {
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

Result<void> ProviderJob::check(const Engine& engine) {
  if (is_checked_) return {};
  COMMENSAL_ASSIGN(inputs_,
                   receipt::check_job(record_.job, record_.input_salt, record_.inputs,
                                      deps_.key.address(), engine.graph(), engine.roots()));
  is_checked_ = true;
  return {};
}

Result<ProviderJob::Inputs> ProviderJob::inputs_of(const receipt::Begin& begin,
                                                   const Engine& engine) {
  COMMENSAL_TRY(check(engine));
  const receipt::Values before = values_of(last_.outputs);
  return Inputs{receipt::inputs_of_step(record_.job, inputs_, begin.step > 1 ? &before : nullptr),
                receipt::noise_of_step(record_.job, job_id_, begin.step, begin.value)};
}

Result<ProviderJob::Computed> ProviderJob::outputs_of(const receipt::Begin& begin,
                                                      const Engine& engine,
                                                      receipt::Values outputs) const {
  const graph::Graph& graph = engine.graph();
  // What the model declares wrongly is its consumer's affair: nobody would take it.
  COMMENSAL_TRY(receipt::check_outputs(graph, outputs));
  COMMENSAL_TRY(receipt::check_state(record_.job, graph, begin.step, outputs));
  Computed made{begin, receipt::name_tensors(graph, graph.outputs, std::move(outputs)), {}};
  made.root = receipt::state_root(made.outputs);
  return made;
}

Result<ProviderJob::Computed> ProviderJob::compute(const receipt::Begin& begin, Engine& engine,
                                                   const graph::RunOptions& options) {
  COMMENSAL_ASSIGN(const Inputs inputs, inputs_of(begin, engine));
  COMMENSAL_ASSIGN(receipt::Values outputs,
                   engine.run(begin.step, inputs.values, inputs.noise, options));
  return outputs_of(begin, engine, std::move(outputs));
}

void ProviderJob::hold(Computed computed) {
  Held& held = held_.emplace(Held{});
  held.root = computed.root;
  held.record.step = receipt::Step(record_.job, computed.begin.step);
  held.record.value = computed.begin.value;
  held.record.output_salt = deps_.rng.next_digest();
  held.record.outputs = std::move(computed.outputs);
  held.commitment =
      protocol::commit_step(job_id_, computed.begin.step, held.root, held.record.output_salt);
}

protocol::ReceiptBody ProviderJob::body(std::uint64_t round) const {
  core::check(held_.has_value(), "what is signed was computed");
  return {job_id_, held_->record.step.index(), held_->commitment, round};
}

Result<receipt::Commit> ProviderJob::commit(std::uint64_t round,
                                            const protocol::BatchSignature& signature) {
  core::check(held_.has_value(), "what is committed to was computed");
  StepRecord record = held_->record;
  record.step.commit_own(held_->commitment, round, signature);
  COMMENSAL_ASSIGN(const receipt::Commit made, keep(std::move(record)));
  held_.reset();
  return made;
}

Result<receipt::Commit> ProviderJob::keep(StepRecord record) {
  if (deps_.store != nullptr) {
    JobRows rows(*deps_.store, job_id_);
    if (!is_stored_) COMMENSAL_TRY(rows.put(record_));
    is_stored_ = true;
    COMMENSAL_TRY(rows.put(record));
  }
  last_ = std::move(record);
  return commit_of(last_.step);
}

Result<receipt::Commit> ProviderJob::begin(const receipt::Begin& begin, Engine& engine,
                                           std::uint64_t round) {
  COMMENSAL_ASSIGN(const auto made, asked(begin));
  if (made) return *made;
  COMMENSAL_ASSIGN(Computed computed, compute(begin, engine));
  hold(std::move(computed));
  return commit(round, sign(deps_.key, body(round)));
}

Result<receipt::Commit> ProviderJob::sign_again(std::uint64_t round) {
  if (last_.step.phase() != receipt::StepPhase::kCommitted) {
    return fail(ErrorCode::kFailedPrecondition, "step {} waits for no signature of the client",
                last_.step.index());
  }
  protocol::ReceiptBody body = last_.step.body();
  body.round = round;
  StepRecord record = last_;
  record.step.commit_own(body.commitment, round, sign(deps_.key, body));
  return keep(std::move(record));
}

Result<receipt::Deliver> ProviderJob::countersign(const receipt::Countersign& message,
                                                  protocol::KnownSignatures* known) {
  if (message.step != last_.step.index() || message.step == 0 || message.job != job_id_) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is countersigned where step {} is {}",
                message.step, last_.step.index(), state_of(last_.step));
  }
  if (last_.step.phase() == receipt::StepPhase::kCommitted) {
    StepRecord record = last_;
    COMMENSAL_TRY(record.step.countersign(message.signature, known));
    COMMENSAL_TRY(keep(std::move(record)));
  }
  return receipt::Deliver{job_id_, message.step, last_.output_salt, last_.outputs};
}

Result<StepRecord> ProviderJob::step(std::uint64_t step) const {
  core::check(deps_.store != nullptr, "steps of a job that is kept");
  return JobRows(*deps_.store, job_id_).step(step);
}

Result<std::vector<NodeRoot>> ProviderJob::trace(std::uint64_t step, Engine& engine) {
  COMMENSAL_TRY(check(engine));
  COMMENSAL_ASSIGN(const StepRecord record, this->step(step));
  receipt::Values before;
  if (step > 1) {
    COMMENSAL_ASSIGN(const StepRecord earlier, this->step(step - 1));
    before = values_of(earlier.outputs);
  }
  NodeRoots roots;
  COMMENSAL_TRY(engine.run(
      step, receipt::inputs_of_step(record_.job, inputs_, step > 1 ? &before : nullptr),
      receipt::noise_of_step(record_.job, job_id_, step, record.value), {.tracer = &roots}));
  return roots.roots();
}

}  // namespace commensal::rollout
