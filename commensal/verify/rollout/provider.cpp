// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/noise/targets.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/provider.hpp>

namespace commensal::rollout {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

Values values_of(const tensor::NamedTensors& named) {
  Values values;
  for (const tensor::NamedTensor& item : named) values.push_back(item.value);
  return values;
}

Result<void> check_job(const protocol::Job& job, const crypto::SecretKey& key,
                       const Engine& engine) {
  COMMENSAL_TRY(job.validity());
  if (job.provider != key.address()) {
    return fail(ErrorCode::kFailedPrecondition, "the job names another provider, {}",
                crypto::to_text(job.provider));
  }
  COMMENSAL_TRY(receipt::check_model(job, engine.roots()));
  if (job.steps > limits::kRolloutStepsMax) {
    return fail(ErrorCode::kResourceExhausted, "a rollout of {} steps, at most {} are accepted",
                job.steps, limits::kRolloutStepsMax);
  }
  return noise::check_feeds(engine.graph(), job.feeds);
}

Commit commit_of(const StepRecord& record) {
  return {record.step, record.body.commitment, record.body.round, record.body.provider};
}

}  // namespace

Result<void> RolloutProvider::check() {
  COMMENSAL_TRY(check_job(record_.job, deps_.key, deps_.engine));
  COMMENSAL_ASSIGN(inputs_, receipt::order_inputs(deps_.engine.graph(), record_.inputs));
  // In the graph's order, so that an arbiter without the model knows which input is fed.
  const graph::Graph& graph = deps_.engine.graph();
  if (receipt::state_root(record_.inputs) !=
      receipt::state_root(receipt::name_tensors(graph, graph.inputs, inputs_))) {
    return fail(ErrorCode::kInvalidArgument, "the inputs are not in the model's order");
  }
  if (protocol::commit_input(receipt::state_root(record_.inputs), record_.input_salt) !=
      record_.job.input_commitment) {
    return fail(ErrorCode::kInvalidArgument, "the inputs are not those that the job was made with");
  }
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

Result<std::optional<Commit>> RolloutProvider::asked(const Begin& begin) const {
  const bool is_repeated = begin.step == last_.step && last_.step > 0 &&
                           last_.phase == StepPhase::kCommitted && begin.value == last_.value;
  if (is_repeated) return commit_of(last_);
  const bool is_free = last_.step == 0 || last_.phase != StepPhase::kCommitted;
  if (begin.step != last_.step + 1 || !is_free || begin.step > record_.job.steps) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is begun where step {} of {} is {}",
                begin.step, last_.step, record_.job.steps,
                last_.step == 0 ? "not there yet" : protocol::name_of(last_.phase));
  }
  const bool has_noise = record_.job.noise != protocol::NoisePolicy::kNone;
  if (has_noise ? beacon::hash_back(begin.value, 1) != last_.value
                : begin.value != core::Digest{}) {
    return fail(ErrorCode::kDataLoss, "step {}: the noise's value does not lead to the one before",
                begin.step);
  }
  return std::nullopt;
}

Result<Commit> RolloutProvider::begin(const Begin& begin, std::uint64_t round) {
  COMMENSAL_ASSIGN(const auto made, asked(begin));
  if (made) return *made;
  COMMENSAL_ASSIGN(Values outputs, compute(begin));
  return commit(begin, round, std::move(outputs));
}

Result<Values> RolloutProvider::compute(const Begin& begin) const {
  const Values given = inputs_of_step(record_.job, inputs_, begin.step > 1 ? &outputs_ : nullptr);
  return deps_.engine.run(begin.step, given,
                          noise_of_step(record_.job, job_id_, begin.step, begin.value));
}

Result<Commit> RolloutProvider::commit(const Begin& begin, std::uint64_t round, Values outputs) {
  const graph::Graph& graph = deps_.engine.graph();
  COMMENSAL_TRY(check_state(record_.job, graph, begin.step, outputs));
  StepRecord record;
  record.step = begin.step;
  record.value = begin.value;
  record.output_salt = deps_.rng.next_digest();
  record.body.commitment =
      protocol::commit_step(job_id_, record.step, outputs_root(graph, outputs), record.output_salt);
  record.body.round = round;
  const protocol::ReceiptBody body{job_id_, record.step, record.body.commitment, round};
  record.body.provider = protocol::sign_batch(deps_.key, protocol::Role::kProvider, {&body, 1})[0];
  record.outputs = receipt::name_tensors(graph, graph.outputs, outputs);
  COMMENSAL_TRY(rows_.put(record));
  last_ = std::move(record);
  outputs_ = std::move(outputs);
  return commit_of(last_);
}

Result<Commit> RolloutProvider::sign_again(std::uint64_t round) {
  if (last_.step == 0 || last_.phase != StepPhase::kCommitted) {
    return fail(ErrorCode::kFailedPrecondition, "step {} waits for no signature of the client",
                last_.step);
  }
  StepRecord record = last_;
  record.body.round = round;
  const protocol::ReceiptBody body{job_id_, record.step, record.body.commitment, round};
  record.body.provider = protocol::sign_batch(deps_.key, protocol::Role::kProvider, {&body, 1})[0];
  COMMENSAL_TRY(rows_.put(record));
  last_ = std::move(record);
  return commit_of(last_);
}

Result<Deliver> RolloutProvider::countersign(const Countersign& message) {
  if (message.step != last_.step || last_.step == 0) {
    return fail(ErrorCode::kFailedPrecondition, "step {} is countersigned where step {} is {}",
                message.step, last_.step,
                last_.step == 0 ? "not there yet" : protocol::name_of(last_.phase));
  }
  if (last_.phase == StepPhase::kCommitted) {
    const protocol::ReceiptBody body{job_id_, last_.step, last_.body.commitment, last_.body.round};
    COMMENSAL_TRY(protocol::verify_batch_signature(message.signature, body, protocol::Role::kClient,
                                                   record_.job.client));
    StepRecord record = last_;
    record.body.client = message.signature;
    record.phase = StepPhase::kCountersigned;
    COMMENSAL_TRY(rows_.put(record));
    last_ = std::move(record);
  }
  return Deliver{last_.step, last_.output_salt, last_.outputs};
}

Result<std::vector<NodeRoot>> RolloutProvider::trace(std::uint64_t step) {
  COMMENSAL_ASSIGN(const StepRecord record, rows_.step(step));
  Values before;
  if (step > 1) {
    COMMENSAL_ASSIGN(const StepRecord earlier, rows_.step(step - 1));
    before = values_of(earlier.outputs);
  }
  NodeRoots roots;
  COMMENSAL_TRY(deps_.engine.run(step,
                                 inputs_of_step(record_.job, inputs_, step > 1 ? &before : nullptr),
                                 noise_of_step(record_.job, job_id_, step, record.value), &roots));
  return roots.roots();
}

}  // namespace commensal::rollout
