// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/chain/client.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::chain {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

protocol::Receipt receipt_of(const protocol::Job& job, const LinkRecord& link) {
  return {
      job, link.step, link.body.commitment, link.body.round, link.body.provider, link.body.client};
}

}  // namespace

beacon::ReverseChain noise_chain(const core::Digest& key, std::uint64_t links) {
  core::check(links >= 1 && links <= limits::kChainLinksMax, "a chain has 1 to 2^20 links");
  const int depth = std::max(1, static_cast<int>(std::bit_width(links - 1)));
  return beacon::ReverseChain::make(key, depth);
}

ChainClient::ChainClient(const Dependencies& deps, ChainRecord record, const core::Digest& job_id)
    : deps_(deps), record_(std::move(record)), job_id_(job_id), rows_(deps.store, job_id) {}

Result<void> ChainClient::check_record() {
  const protocol::Job& job = record_.job;
  COMMENSAL_TRY(job.validity());
  if (job.client != deps_.key.address()) {
    return fail(ErrorCode::kInvalidArgument, "the job names another client, {}",
                crypto::to_text(job.client));
  }
  if (job.steps > limits::kChainLinksMax) {
    return fail(ErrorCode::kResourceExhausted, "a chain of {} links, at most {} are accepted",
                job.steps, limits::kChainLinksMax);
  }
  if (job.noise == protocol::NoisePolicy::kNone) return {};
  noise_ = noise_chain(deps_.noise_key, job.steps);
  if (noise_->anchor() == job.noise_anchor) return {};
  return fail(ErrorCode::kInvalidArgument, "the noise key is not the one of the job's anchor");
}

Result<ChainClient> ChainClient::start(const Dependencies& deps, const ChainRecord& record) {
  ChainClient made(deps, record, protocol::job_id(record.job));
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_TRY(made.rows_.put(record));
  return made;
}

Result<ChainClient> ChainClient::load(const Dependencies& deps, const core::Digest& job_id) {
  COMMENSAL_ASSIGN(ChainRecord record, ChainRows(deps.store, job_id).chain());
  ChainClient made(deps, std::move(record), job_id);
  COMMENSAL_TRY(made.check_record());
  COMMENSAL_ASSIGN(const std::uint64_t step, made.rows_.last());
  if (step == 0) return made;
  COMMENSAL_ASSIGN(LinkRecord last, made.rows_.link(step));
  COMMENSAL_TRY(made.resume(std::move(last)));
  return made;
}

Result<void> ChainClient::resume(LinkRecord last) {
  if (last.phase == LinkPhase::kDelivered) {
    for (const auto& item : last.outputs) outputs_.push_back(item.value);
  } else {
    step_.emplace(record_.job, last.step);
    COMMENSAL_TRY(step_->commit(last.body.commitment, last.body.round, last.body.provider));
    COMMENSAL_TRY(step_->countersign(last.body.client));
    if (last.step > 1) {
      COMMENSAL_ASSIGN(const LinkRecord before, rows_.link(last.step - 1));
      for (const auto& item : before.outputs) outputs_.push_back(item.value);
    }
  }
  last_ = std::move(last);
  return {};
}

bool ChainClient::is_finished() const {
  return last_.step == record_.job.steps && last_.phase == LinkPhase::kDelivered;
}

std::optional<Countersign> ChainClient::pending() const {
  if (last_.step == 0 || last_.phase != LinkPhase::kCountersigned) return std::nullopt;
  return Countersign{last_.step, last_.body.client};
}

Result<Begin> ChainClient::begin() {
  if (pending()) {
    return fail(ErrorCode::kFailedPrecondition, "link {} is countersigned and not delivered",
                last_.step);
  }
  if (is_finished()) {
    return fail(ErrorCode::kFailedPrecondition, "all {} links are delivered", record_.job.steps);
  }
  Begin begin{last_.step + 1, {}};
  if (noise_) {
    COMMENSAL_ASSIGN(begin.value, noise_->reveal(begin.step));
  }
  step_.emplace(record_.job, begin.step);
  return begin;
}

Result<Countersign> ChainClient::on_commit(const Commit& message) {
  if (!step_ || message.step != last_.step + 1 || pending()) {
    return fail(ErrorCode::kFailedPrecondition, "a commitment to link {} that was not begun",
                message.step);
  }
  LinkRecord link;
  link.step = message.step;
  link.phase = LinkPhase::kCountersigned;
  if (noise_) {
    COMMENSAL_ASSIGN(link.value, noise_->reveal(link.step));
  }
  link.body.commitment = message.commitment;
  link.body.round = message.round;
  link.body.provider = message.signature;
  receipt::Step step(record_.job, message.step);
  COMMENSAL_TRY(step.commit(message.commitment, message.round, message.signature));
  const protocol::ReceiptBody body = step.body();
  link.body.client = protocol::sign_batch(deps_.key, protocol::Role::kClient, {&body, 1})[0];
  COMMENSAL_TRY(step.countersign(link.body.client));
  COMMENSAL_TRY(rows_.put(link));
  step_ = std::move(step);
  last_ = std::move(link);
  return *pending();
}

Result<ChainClient::Delivery> ChainClient::check(const Deliver& message) const {
  if (!pending() || message.step != last_.step) {
    return fail(ErrorCode::kFailedPrecondition, "a delivery of link {} that is not awaited",
                message.step);
  }
  const graph::Graph& graph = *deps_.graph;
  Delivery made;
  for (const auto& item : message.outputs) made.outputs.push_back(item.value);
  COMMENSAL_TRY(check_outputs(graph, made.outputs));
  receipt::Step step = *step_;
  COMMENSAL_TRY(step.deliver(outputs_root(graph, made.outputs), message.output_salt));
  COMMENSAL_TRY(check_state(record_.job, graph, message.step, made.outputs));
  made.link = last_;
  made.link.phase = LinkPhase::kDelivered;
  made.link.output_salt = message.output_salt;
  made.link.outputs = receipt::name_tensors(graph, graph.outputs, made.outputs);
  return made;
}

Result<void> ChainClient::keep(Delivery delivery) {
  COMMENSAL_TRY(rows_.put(delivery.link));
  step_.reset();
  last_ = std::move(delivery.link);
  outputs_ = std::move(delivery.outputs);
  return {};
}

Result<void> ChainClient::on_deliver(const Deliver& message) {
  COMMENSAL_ASSIGN(Delivery delivery, check(message));
  return keep(std::move(delivery));
}

Result<LinkAudit> audit_of(core::Store& store, const core::Digest& job_id, std::uint64_t step) {
  ChainRows rows(store, job_id);
  COMMENSAL_ASSIGN(const LinkRecord link, rows.link(step));
  if (link.phase != LinkPhase::kDelivered) {
    return fail(ErrorCode::kNotFound, "link {} is not delivered", step);
  }
  COMMENSAL_ASSIGN(ChainRecord record, rows.chain());
  LinkAudit made;
  made.body = {job_id, step, link.body.commitment, link.body.round};
  made.output_salt = link.output_salt;
  made.task.job = std::move(record.job);
  made.task.step = step;
  made.task.value = link.value;
  made.task.input_salt = record.input_salt;
  made.task.inputs = std::move(record.inputs);
  if (step > 1) {
    COMMENSAL_ASSIGN(LinkRecord before, rows.link(step - 1));
    made.task.signed_before = before.body;
    made.task.salt_before = before.output_salt;
    made.task.outputs_before = std::move(before.outputs);
  }
  return made;
}

Result<protocol::Receipt> ChainClient::receipt(std::uint64_t step) {
  COMMENSAL_ASSIGN(const LinkRecord link, rows_.link(step));
  return receipt_of(record_.job, link);
}

}  // namespace commensal::chain
