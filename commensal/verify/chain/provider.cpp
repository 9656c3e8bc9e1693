// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/chain.hpp>
#include <commensal/verify/chain/provider.hpp>
#include <commensal/verify/noise/targets.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::chain {

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
  if (job.steps > limits::kChainLinksMax) {
    return fail(ErrorCode::kResourceExhausted, "a chain of {} links, at most {} are accepted",
                job.steps, limits::kChainLinksMax);
  }
  return noise::check_feeds(engine.graph(), job.feeds);
}

Commit commit_of(const LinkRecord& link) {
  return {link.step, link.body.commitment, link.body.round, link.body.provider};
}

}  // namespace

Result<void> ChainProvider::check() {
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
    return fail(ErrorCode::kInvalidArgument, "the inputs do not open the job's c_0");
  }
  last_.value = record_.job.noise_anchor;
  return {};
}

Result<ChainProvider> ChainProvider::start(const Dependencies& deps, const ChainRecord& record) {
  ChainProvider made(deps, record, protocol::job_id(record.job));
  COMMENSAL_TRY(made.check());
  COMMENSAL_TRY(made.rows_.put(record));
  return made;
}

Result<ChainProvider> ChainProvider::load(const Dependencies& deps, const core::Digest& job_id) {
  COMMENSAL_ASSIGN(ChainRecord record, ChainRows(deps.store, job_id).chain());
  ChainProvider made(deps, std::move(record), job_id);
  COMMENSAL_TRY(made.check());
  COMMENSAL_ASSIGN(const std::uint64_t step, made.rows_.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(made.last_, made.rows_.link(step));
  made.outputs_ = values_of(made.last_.outputs);
  return made;
}

Result<std::optional<Commit>> ChainProvider::asked(const Begin& begin) const {
  const bool is_repeated = begin.step == last_.step && last_.step > 0 &&
                           last_.phase == LinkPhase::kCommitted && begin.value == last_.value;
  if (is_repeated) return commit_of(last_);
  const bool is_free = last_.step == 0 || last_.phase != LinkPhase::kCommitted;
  if (begin.step != last_.step + 1 || !is_free || begin.step > record_.job.steps) {
    return fail(ErrorCode::kFailedPrecondition, "link {} is begun where link {} of {} is {}",
                begin.step, last_.step, record_.job.steps,
                last_.step == 0 ? "not there yet" : protocol::name_of(last_.phase));
  }
  const bool has_noise = record_.job.noise != protocol::NoisePolicy::kNone;
  if (has_noise ? beacon::chain_back(begin.value, 1) != last_.value
                : begin.value != core::Digest{}) {
    return fail(ErrorCode::kDataLoss, "link {}: the noise's value does not lead to the one before",
                begin.step);
  }
  return std::nullopt;
}

Result<Commit> ChainProvider::begin(const Begin& begin, std::uint64_t round) {
  COMMENSAL_ASSIGN(const auto made, asked(begin));
  if (made) return *made;
  COMMENSAL_ASSIGN(Values outputs, compute(begin));
  return commit(begin, round, std::move(outputs));
}

Result<Values> ChainProvider::compute(const Begin& begin) const {
  const Values given = inputs_of_link(record_.job, inputs_, begin.step > 1 ? &outputs_ : nullptr);
  return deps_.engine.run(begin.step, given,
                          noise_of_link(record_.job, job_id_, begin.step, begin.value));
}

Result<Commit> ChainProvider::commit(const Begin& begin, std::uint64_t round, Values outputs) {
  const graph::Graph& graph = deps_.engine.graph();
  COMMENSAL_TRY(check_state(record_.job, graph, begin.step, outputs));
  LinkRecord link;
  link.step = begin.step;
  link.value = begin.value;
  link.output_salt = deps_.rng.next_digest();
  link.body.commitment =
      protocol::commit_step(job_id_, link.step, outputs_root(graph, outputs), link.output_salt);
  link.body.round = round;
  const protocol::ReceiptBody body{job_id_, link.step, link.body.commitment, round};
  link.body.provider = protocol::sign_batch(deps_.key, protocol::Role::kProvider, {&body, 1})[0];
  link.outputs = receipt::name_tensors(graph, graph.outputs, outputs);
  COMMENSAL_TRY(rows_.put(link));
  last_ = std::move(link);
  outputs_ = std::move(outputs);
  return commit_of(last_);
}

Result<Commit> ChainProvider::sign_again(std::uint64_t round) {
  if (last_.step == 0 || last_.phase != LinkPhase::kCommitted) {
    return fail(ErrorCode::kFailedPrecondition, "link {} waits for no signature of the client",
                last_.step);
  }
  LinkRecord link = last_;
  link.body.round = round;
  const protocol::ReceiptBody body{job_id_, link.step, link.body.commitment, round};
  link.body.provider = protocol::sign_batch(deps_.key, protocol::Role::kProvider, {&body, 1})[0];
  COMMENSAL_TRY(rows_.put(link));
  last_ = std::move(link);
  return commit_of(last_);
}

Result<Deliver> ChainProvider::countersign(const Countersign& message) {
  if (message.step != last_.step || last_.step == 0) {
    return fail(ErrorCode::kFailedPrecondition, "link {} is countersigned where link {} is {}",
                message.step, last_.step,
                last_.step == 0 ? "not there yet" : protocol::name_of(last_.phase));
  }
  if (last_.phase == LinkPhase::kCommitted) {
    const protocol::ReceiptBody body{job_id_, last_.step, last_.body.commitment, last_.body.round};
    COMMENSAL_TRY(protocol::verify_batch_signature(message.signature, body, protocol::Role::kClient,
                                                   record_.job.client));
    LinkRecord link = last_;
    link.body.client = message.signature;
    link.phase = LinkPhase::kCountersigned;
    COMMENSAL_TRY(rows_.put(link));
    last_ = std::move(link);
  }
  return Deliver{last_.step, last_.output_salt, last_.outputs};
}

Result<std::vector<NodeRoot>> ChainProvider::trace(std::uint64_t step) {
  COMMENSAL_ASSIGN(const LinkRecord link, rows_.link(step));
  Values before;
  if (step > 1) {
    COMMENSAL_ASSIGN(const LinkRecord earlier, rows_.link(step - 1));
    before = values_of(earlier.outputs);
  }
  NodeRoots roots;
  COMMENSAL_TRY(deps_.engine.run(step,
                                 inputs_of_link(record_.job, inputs_, step > 1 ? &before : nullptr),
                                 noise_of_link(record_.job, job_id_, step, link.value), &roots));
  return roots.roots();
}

}  // namespace commensal::chain
