// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_chains.hpp>
#include <commensal/serve/rpc/grpc_parts.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using core::Result;
using parts::check_count;
using parts::take;

// Messages.

Result<ToProvider> read(wire::Challenge& from) {
  Challenge to;
  COMMENSAL_TRY(take(to.nonce, "challenge.nonce", from.nonce()));
  if (from.has_chain()) {
    COMMENSAL_TRY(take(to.chain.emplace(), "challenge.chain", from.chain()));
  }
  return to;
}

Result<ToProvider> read(wire::Balance& from) {
  Balance to;
  COMMENSAL_TRY(take(to.ledger.bytes, "balance.ledger", from.ledger()));
  to.nonce = from.nonce();
  COMMENSAL_TRY(take(to.available, "balance.available", from.available()));
  COMMENSAL_TRY(take(to.stake, "balance.stake", from.stake()));
  COMMENSAL_TRY(take(to.stake_wanted, "balance.stake_wanted", from.stake_wanted()));
  to.reveal_delay_ms = from.reveal_delay_ms();
  return to;
}

Result<Reveal> read(wire::Reveal& from) {
  Reveal to;
  to.round = from.round();
  COMMENSAL_TRY(take(to.value, "reveal.value", from.value()));
  return to;
}

Result<ToProvider> read(wire::Outcomes& from) {
  Outcomes to;
  COMMENSAL_TRY(check_count("outcomes.items", static_cast<std::size_t>(from.items_size()),
                            limits::kListItemsMax));
  for (const wire::Outcomes::Item& item : from.items()) {
    Outcomes::Item& row = to.items.emplace_back();
    COMMENSAL_TRY(take(row.ticket, "outcomes.items.ticket", item.ticket()));
    COMMENSAL_TRY(take(row.event, "outcomes.items.event", item.event(), limits::kNameBytesMax));
    COMMENSAL_TRY(take(row.amount, "outcomes.items.amount", item.amount()));
  }
  return to;
}

Result<ToGateway> read(wire::Claims& from) {
  Claims to;
  COMMENSAL_TRY(check_count("claims.items", static_cast<std::size_t>(from.items_size()),
                            limits::kListItemsMax));
  for (const wire::Claims::Item& item : from.items()) {
    Claims::Item& row = to.items.emplace_back();
    COMMENSAL_TRY(take(row.receipt, "claims.items.receipt", item.receipt()));
    COMMENSAL_TRY(take(row.output_root, "claims.items.output_root", item.output_root()));
    COMMENSAL_TRY(take(row.output_salt, "claims.items.output_salt", item.output_salt()));
  }
  return to;
}

Result<ToGateway> read(wire::Transact& from) {
  const core::ByteView bytes = core::as_bytes(from.transaction());
  if (bytes.size() > limits::kNounBytesMax) {
    return core::fail(ErrorCode::kInvalidArgument, "transact.transaction: {} bytes, at most {}",
                      bytes.size(), limits::kNounBytesMax);
  }
  return Transact{{bytes.begin(), bytes.end()}};
}

Result<ToProvider> read(wire::Welcome& from) {
  Welcome to;
  COMMENSAL_TRY(
      take(to.session_token, "welcome.session_token", from.session_token(), limits::kTextBytesMax));
  return to;
}

Result<ToProvider> read(wire::Dismiss& from) {
  Dismiss to;
  COMMENSAL_TRY(take(to.reason, "dismiss.reason", from.reason()));
  return to;
}

Result<ToProvider> read(wire::Task& from) {
  Task to;
  to.id = from.id();
  COMMENSAL_TRY(take(to.job, "task.job", from.job()));
  COMMENSAL_TRY(take(to.model, "task.model", from.model()));
  COMMENSAL_TRY(take(to.input_salt, "task.input_salt", from.input_salt()));
  COMMENSAL_TRY(take(to.inputs, "task.inputs", *from.mutable_inputs()));
  return to;
}

Result<ToProvider> read(wire::Countersign& from) {
  Countersign to;
  COMMENSAL_TRY(check_count("countersign.items", static_cast<std::size_t>(from.items_size()),
                            limits::kListItemsMax));
  for (const wire::Countersign::Item& item : from.items()) {
    Countersign::Item& row = to.items.emplace_back();
    row.task = item.task();
    COMMENSAL_TRY(take(row.signature, "countersign.items.signature", item.signature()));
  }
  return to;
}

Result<ToProvider> read(wire::OpenRequest& from) {
  OpenRequest to;
  COMMENSAL_TRY(take(to.receipt, "open_request.receipt", from.receipt()));
  return to;
}

Result<ToGateway> read(wire::Hello& from) {
  Hello to;
  COMMENSAL_TRY(take(to.name, "hello.name", from.name(), limits::kNameBytesMax));
  COMMENSAL_TRY(take(to.version, "hello.version", from.version(), limits::kNameBytesMax));
  COMMENSAL_TRY(take(to.address.bytes, "hello.address", from.address()));
  COMMENSAL_TRY(take(to.signature.bytes, "hello.signature", from.signature()));
  COMMENSAL_TRY(take(to.cached_models, "hello.cached_models", from.cached_models()));
  to.threads = from.threads();
  if (from.has_chain()) {
    COMMENSAL_TRY(take(to.chain.emplace(), "hello.chain", from.chain()));
  }
  COMMENSAL_TRY(take(to.paused, "hello.paused", from.paused(), limits::kRpcErrorTextBytesMax));
  return to;
}

Result<ToGateway> read(wire::Load& from) {
  Load to;
  to.queued = from.queued();
  COMMENSAL_TRY(take(to.cached_models, "load.cached_models", from.cached_models()));
  return to;
}

Result<ToGateway> read(wire::Commit& from) {
  Commit to;
  COMMENSAL_TRY(check_count("commit.items", static_cast<std::size_t>(from.items_size()),
                            limits::kListItemsMax));
  for (const wire::Commit::Item& item : from.items()) {
    Commit::Item& row = to.items.emplace_back();
    row.task = item.task();
    COMMENSAL_TRY(take(row.commitment, "commit.items.commitment", item.commitment()));
    row.round = item.round();
    COMMENSAL_TRY(take(row.signature, "commit.items.signature", item.signature()));
  }
  return to;
}

Result<ToGateway> read(wire::Deliver& from) {
  Deliver to;
  to.task = from.task();
  COMMENSAL_TRY(take(to.output_salt, "deliver.output_salt", from.output_salt()));
  COMMENSAL_TRY(take(to.outputs, "deliver.outputs", *from.mutable_outputs()));
  return to;
}

Result<ToGateway> read(wire::Refuse& from) {
  Refuse to;
  to.task = from.task();
  COMMENSAL_TRY(take(to.reason, "refuse.reason", from.reason()));
  return to;
}

Result<ToGateway> read(wire::OpenReply& from) {
  OpenReply to;
  COMMENSAL_TRY(take(to.receipt, "open_reply.receipt", from.receipt()));
  if (from.has_opening()) {
    const core::ByteView opening = core::as_bytes(from.opening());
    to.opening.emplace(opening.begin(), opening.end());
  }
  return to;
}

Result<ToProvider> read(const wire::Withdraw& from) {
  COMMENSAL_TRY(check_count("withdraw.tasks", static_cast<std::size_t>(from.tasks_size()),
                            limits::kListItemsMax));
  return Withdraw{{from.tasks().begin(), from.tasks().end()}};
}

Result<ToGateway> read(const wire::Pause& from) {
  Pause to;
  COMMENSAL_TRY(take(to.reason, "pause.reason", from.reason(), limits::kRpcErrorTextBytesMax));
  return to;
}

template <class Wire, class Message>
struct KindRow {
  typename Wire::KindCase kind;
  Result<Message> (*read)(Wire& message);
};
using FromGateway = wire::GatewayMessage;
constexpr KindRow<FromGateway, ToProvider> kGatewayKinds[] = {
    {FromGateway::kChallenge, [](FromGateway& from) { return read(*from.mutable_challenge()); }},
    {FromGateway::kWelcome, [](FromGateway& from) { return read(*from.mutable_welcome()); }},
    {FromGateway::kDismiss, [](FromGateway& from) { return read(*from.mutable_dismiss()); }},
    {FromGateway::kTask, [](FromGateway& from) { return read(*from.mutable_task()); }},
    {FromGateway::kCountersign,
     [](FromGateway& from) { return read(*from.mutable_countersign()); }},
    {FromGateway::kOpenRequest,
     [](FromGateway& from) { return read(*from.mutable_open_request()); }},
    {FromGateway::kBalance, [](FromGateway& from) { return read(*from.mutable_balance()); }},
    {FromGateway::kReveal,
     [](FromGateway& from) -> Result<ToProvider> { return read(*from.mutable_reveal()); }},
    {FromGateway::kOutcomes, [](FromGateway& from) { return read(*from.mutable_outcomes()); }},
    {FromGateway::kChainStart,
     [](FromGateway& from) { return chains::read(*from.mutable_chain_start()); }},
    {FromGateway::kChainBegin,
     [](FromGateway& from) { return chains::read(*from.mutable_chain_begin()); }},
    {FromGateway::kChainCountersign,
     [](FromGateway& from) { return chains::read(*from.mutable_chain_countersign()); }},
    {FromGateway::kWithdraw, [](FromGateway& from) { return read(from.withdraw()); }},
};
using FromProvider = wire::ProviderMessage;
constexpr KindRow<FromProvider, ToGateway> kProviderKinds[] = {
    {FromProvider::kHello, [](FromProvider& from) { return read(*from.mutable_hello()); }},
    {FromProvider::kLoad, [](FromProvider& from) { return read(*from.mutable_load()); }},
    {FromProvider::kCommit, [](FromProvider& from) { return read(*from.mutable_commit()); }},
    {FromProvider::kDeliver, [](FromProvider& from) { return read(*from.mutable_deliver()); }},
    {FromProvider::kRefuse, [](FromProvider& from) { return read(*from.mutable_refuse()); }},
    {FromProvider::kOpenReply, [](FromProvider& from) { return read(*from.mutable_open_reply()); }},
    {FromProvider::kReveal,
     [](FromProvider& from) -> Result<ToGateway> { return read(*from.mutable_reveal()); }},
    {FromProvider::kClaims, [](FromProvider& from) { return read(*from.mutable_claims()); }},
    {FromProvider::kTransact, [](FromProvider& from) { return read(*from.mutable_transact()); }},
    {FromProvider::kChainReady,
     [](FromProvider& from) { return chains::read(*from.mutable_chain_ready()); }},
    {FromProvider::kChainCommit,
     [](FromProvider& from) { return chains::read(*from.mutable_chain_commit()); }},
    {FromProvider::kChainDeliver,
     [](FromProvider& from) { return chains::read(*from.mutable_chain_deliver()); }},
    {FromProvider::kChainRefuse,
     [](FromProvider& from) { return chains::read(*from.mutable_chain_refuse()); }},
    {FromProvider::kPause, [](FromProvider& from) { return read(from.pause()); }},
    {FromProvider::kResume, [](FromProvider&) -> Result<ToGateway> { return Resume{}; }},
};

template <class Wire, class Message, std::size_t kRows>
Result<Message> read_kind(const KindRow<Wire, Message> (&rows)[kRows], Wire& message) {
  for (const auto& row : rows) {
    if (row.kind == message.kind_case()) return row.read(message);
  }
  return core::fail(ErrorCode::kInvalidArgument, "a message of a kind that is unknown here");
}

}  // namespace

core::Result<ToProvider> from_wire(wire::GatewayMessage&& message) {
  return read_kind(kGatewayKinds, message);
}

core::Result<ToGateway> from_wire(wire::ProviderMessage&& message) {
  return read_kind(kProviderKinds, message);
}

core::Result<core::Digest> digest_from_wire(std::string_view field, const std::string& bytes) {
  core::Digest digest;
  COMMENSAL_TRY(take(digest, field, bytes));
  return digest;
}

}  // namespace commensal::rpc
