// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/rpc/grpc_codec.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>

namespace commensal::rpc {
namespace {

// Parts of messages.

std::string raw(core::ByteView bytes) { return std::string(core::as_text(bytes)); }

template <protocol::Noun N>
std::string canonical(const N& noun) {
  return raw(protocol::encode(noun));
}

void put(wire::Error& out, const core::Error& error) {
  out.set_code(code_to_wire(error.code));
  out.set_message(one_line(error.message));
}

void put(google::protobuf::RepeatedPtrField<std::string>& out,
         const std::vector<core::Digest>& digests) {
  for (const core::Digest& digest : digests) out.Add(raw(digest));
}

void put(google::protobuf::RepeatedPtrField<wire::Tensor>& out,
         const tensor::NamedTensors& tensors) {
  for (const auto& [name, value] : tensors) {
    wire::Tensor& to = *out.Add();
    to.set_name(name);
    to.set_dtype(static_cast<std::uint32_t>(value.dtype()));
    for (const std::int64_t dim : value.shape().dims()) to.add_dims(dim);
    to.set_data(value.bytes().data(), value.bytes().size());
  }
}

std::string raw(const protocol::Amount& amount) {
  protocol::Writer writer;
  write(writer, amount);
  return raw(writer.written());
}

void put(wire::Reveal& out, const Reveal& reveal) {
  out.set_round(reveal.round);
  out.set_value(raw(reveal.value));
}

void put(wire::ChainPosition& out, const ChainPosition& chain) {
  out.set_head(canonical(chain.head));
  out.set_round(chain.round);
  out.set_value(raw(chain.value));
}

// Messages.

void put(wire::GatewayMessage& out, const Challenge& message) {
  out.mutable_challenge()->set_nonce(raw(message.nonce));
  if (message.chain) put(*out.mutable_challenge()->mutable_chain(), *message.chain);
}

void put(wire::GatewayMessage& out, const Balance& message) {
  wire::Balance& to = *out.mutable_balance();
  to.set_ledger(raw(message.ledger.bytes));
  to.set_nonce(message.nonce);
  to.set_available(raw(message.available));
  to.set_stake(raw(message.stake));
  to.set_stake_wanted(raw(message.stake_wanted));
  to.set_reveal_delay_ms(message.reveal_delay_ms);
}

void put(wire::GatewayMessage& out, const Reveal& message) { put(*out.mutable_reveal(), message); }

void put(wire::GatewayMessage& out, const Outcomes& message) {
  wire::Outcomes& to = *out.mutable_outcomes();
  for (const Outcomes::Item& item : message.items) {
    wire::Outcomes::Item& row = *to.add_items();
    row.set_ticket(raw(item.ticket));
    row.set_event(item.event);
    row.set_amount(raw(item.amount));
  }
}

void put(wire::ProviderMessage& out, const Reveal& message) { put(*out.mutable_reveal(), message); }

void put(wire::ProviderMessage& out, const Claims& message) {
  wire::Claims& to = *out.mutable_claims();
  for (const Claims::Item& item : message.items) {
    wire::Claims::Item& row = *to.add_items();
    row.set_receipt(canonical(item.receipt));
    row.set_output_root(raw(item.output_root));
    row.set_output_salt(raw(item.output_salt));
  }
}

void put(wire::ProviderMessage& out, const Transact& message) {
  out.mutable_transact()->set_transaction(raw(message.transaction));
}

void put(wire::GatewayMessage& out, const Welcome& message) {
  out.mutable_welcome()->set_session_token(message.session_token);
}

void put(wire::GatewayMessage& out, const Dismiss& message) {
  put(*out.mutable_dismiss()->mutable_reason(), message.reason);
}

void put(wire::GatewayMessage& out, const Task& message) {
  wire::Task& to = *out.mutable_task();
  to.set_id(message.id);
  to.set_job(canonical(message.job));
  to.set_model(raw(message.model));
  to.set_input_salt(raw(message.input_salt));
  put(*to.mutable_inputs(), message.inputs);
}

void put(wire::GatewayMessage& out, const Countersign& message) {
  wire::Countersign& to = *out.mutable_countersign();
  for (const Countersign::Item& item : message.items) {
    wire::Countersign::Item& row = *to.add_items();
    row.set_task(item.task);
    row.set_signature(canonical(item.signature));
  }
}

void put(wire::GatewayMessage& out, const OpenRequest& message) {
  out.mutable_open_request()->set_receipt(raw(message.receipt));
}

void put(wire::ProviderMessage& out, const Hello& message) {
  wire::Hello& to = *out.mutable_hello();
  to.set_name(message.name);
  to.set_version(message.version);
  to.set_address(raw(message.address.bytes));
  to.set_signature(raw(message.signature.bytes));
  put(*to.mutable_cached_models(), message.cached_models);
  to.set_threads(message.threads);
  to.set_paused(one_line(message.paused));
  if (message.chain) put(*to.mutable_chain(), *message.chain);
}

void put(wire::ProviderMessage& out, const Load& message) {
  out.mutable_load()->set_queued(message.queued);
  put(*out.mutable_load()->mutable_cached_models(), message.cached_models);
}

void put(wire::ProviderMessage& out, const Commit& message) {
  wire::Commit& to = *out.mutable_commit();
  for (const Commit::Item& item : message.items) {
    wire::Commit::Item& row = *to.add_items();
    row.set_task(item.task);
    row.set_commitment(raw(item.commitment));
    row.set_round(item.round);
    row.set_signature(canonical(item.signature));
  }
}

void put(wire::ProviderMessage& out, const Deliver& message) {
  wire::Deliver& to = *out.mutable_deliver();
  to.set_task(message.task);
  to.set_output_salt(raw(message.output_salt));
  put(*to.mutable_outputs(), message.outputs);
}

void put(wire::ProviderMessage& out, const Refuse& message) {
  out.mutable_refuse()->set_task(message.task);
  put(*out.mutable_refuse()->mutable_reason(), message.reason);
}

void put(wire::ProviderMessage& out, const OpenReply& message) {
  wire::OpenReply& to = *out.mutable_open_reply();
  to.set_receipt(raw(message.receipt));
  if (message.opening) to.set_opening(raw(*message.opening));
}

void put(wire::GatewayMessage& out, const Withdraw& message) {
  wire::Withdraw& to = *out.mutable_withdraw();
  for (const TaskId task : message.tasks) to.add_tasks(task);
}

void put(wire::ProviderMessage& out, const Pause& message) {
  out.mutable_pause()->set_reason(one_line(message.reason));
}

void put(wire::ProviderMessage& out, const Resume&) { out.mutable_resume(); }

// Chains.

void put(wire::GatewayMessage& out, const ChainStart& message) {
  wire::ChainStart& to = *out.mutable_chain_start();
  to.set_job(canonical(message.job));
  to.set_model(raw(message.model));
  to.set_input_salt(raw(message.input_salt));
  put(*to.mutable_inputs(), message.inputs);
}

void put(wire::GatewayMessage& out, const ChainBegin& message) {
  wire::ChainBegin& to = *out.mutable_chain_begin();
  to.set_chain(raw(message.chain));
  to.set_link(message.link);
  to.set_value(raw(message.value));
}

void put(wire::GatewayMessage& out, const ChainCountersign& message) {
  wire::ChainCountersign& to = *out.mutable_chain_countersign();
  to.set_chain(raw(message.chain));
  to.set_link(message.link);
  to.set_signature(canonical(message.signature));
}

void put(wire::ProviderMessage& out, const ChainReady& message) {
  out.mutable_chain_ready()->set_chain(raw(message.chain));
}

void put(wire::ProviderMessage& out, const ChainCommit& message) {
  wire::ChainCommit& to = *out.mutable_chain_commit();
  to.set_chain(raw(message.chain));
  to.set_link(message.link);
  to.set_commitment(raw(message.commitment));
  to.set_round(message.round);
  to.set_signature(canonical(message.signature));
}

void put(wire::ProviderMessage& out, const ChainDeliver& message) {
  wire::ChainDeliver& to = *out.mutable_chain_deliver();
  to.set_chain(raw(message.chain));
  to.set_link(message.link);
  to.set_output_salt(raw(message.output_salt));
  put(*to.mutable_outputs(), message.outputs);
}

void put(wire::ProviderMessage& out, const ChainRefuse& message) {
  out.mutable_chain_refuse()->set_chain(raw(message.chain));
  put(*out.mutable_chain_refuse()->mutable_reason(), message.reason);
}

}  // namespace

wire::GatewayMessage to_wire(const ToProvider& message) {
  wire::GatewayMessage out;
  std::visit([&out](const auto& kind) { put(out, kind); }, message);
  return out;
}

wire::ProviderMessage to_wire(const ToGateway& message) {
  wire::ProviderMessage out;
  std::visit([&out](const auto& kind) { put(out, kind); }, message);
  return out;
}

}  // namespace commensal::rpc
