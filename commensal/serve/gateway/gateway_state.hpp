// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/audit_desk.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/serve/gateway/chains.hpp>
#include <commensal/serve/gateway/consequences.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <map>

/// The inside of Gateway, for its own sources only: gateway.cpp is its face, gateway_answers.cpp
/// what becomes of answers and verdicts, gateway_money.cpp what they cost and earn,
/// gateway_desk.cpp what people ask of the ledger.
namespace commensal::gateway {

struct Gateway::State {
  /// An answer on its way into the book, and what to do once it is there.
  struct Finished {
    ReceiptRecord record;
    std::function<void(core::Result<ReceiptRecord>)> done;
  };

  GatewayWorld world;
  GatewayConfig config;
  Observer silent;
  Observer& observer;
  store::JointStore store;
  Accounts accounts;
  ModelHub hub;
  ReceiptBook book;
  Roster roster;
  Bank bank;
  Lottery lottery;
  crypto::SecretKey auditor_key;
  Dispatcher dispatcher;
  Auditor auditor;
  AuditDesk desk;
  Consequences consequences;
  Chains chains;
  std::vector<Finished> finished;
  std::map<std::string, std::uint64_t> unpaid;  // requests under way, by account
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);

  State(const GatewayWorld& w, const GatewayConfig& c)
      : world(w),
        config(c),
        observer(w.observer != nullptr ? *w.observer : silent),
        store(w.store),
        accounts(store, w.rng),
        hub(store, c.folder / "models", w.clock),
        book(store),
        roster(store, w.rng),
        bank(store, w.clock, w.key, c.money.rules),
        lottery(lottery_world(), c.money),
        auditor_key(bank.auditor_key()),
        dispatcher(w.loop, w.rng, w.key, roster, lottery,
                   {c.silence_ms_max, c.pause_ms_max, c.tries_max, auditor_key.address()}),
        auditor(
            w.loop, auditor_key, roster, hub, c.opening_ms_max,
            [this](const core::Digest& receipt) { return own_opening(receipt); },
            [this](const core::Digest& receipt, core::Result<protocol::Verdict> verdict) {
              on_verdict(receipt, std::move(verdict));
            }),
        desk(desk_world(), {.floor = c.audit_probability}, c.audit_by_risk),
        consequences(w.loop, book, hub, dispatcher,
                     [this](ReceiptRecord old, Answer answer) {
                       replace(std::move(old), std::move(answer));
                     }),
        chains(chains_world()) {}

  Chains::World chains_world();
  AuditDesk::World desk_world();

  Lottery::World lottery_world();
  core::Result<receipt::Opening> own_opening(const core::Digest& receipt);
  core::Result<void> resume();
  void tick();
  core::Result<void> admit(const std::string& account);
  core::Result<void> write(std::vector<ReceiptRecord>& records);
  core::Result<void> judge_winner(const ReceiptRecord& record);
  core::Result<void> audit_winner(const core::Digest& receipt);
  void resume_winners();
  bool is_penalised(const ReceiptRecord& record) const;
  void conclude_winners(const crypto::Address& provider);
  core::Result<void> audit_alone(const core::Digest& receipt);
  void audit_ourselves(const ReceiptRecord& record);
  void tell_balance(const crypto::Address& provider);
  ReceiptRecord record_of(const std::string& account, const ModelVersion& model, Answer answer);
  void keep(ReceiptRecord record, std::function<void(core::Result<ReceiptRecord>)> done);
  void flush();
  void on_verdict(const core::Digest& receipt, core::Result<protocol::Verdict> verdict);
  bool is_banned(const crypto::Address& provider);
  void catch_provider(const ReceiptRecord& record);
  void ban(const crypto::Address& provider, const std::string& why);
  void replace_doubtful(const crypto::Address& provider);
  void replace(ReceiptRecord old, Answer answer);
  void report(const core::Result<void>& outcome) {
    if (!outcome) observer.on_error(outcome.error());
  }

  void handle(LinkId link, const rpc::Hello& message);
  void handle(LinkId link, const rpc::Load& message);
  void handle(LinkId link, const rpc::Pause& message);
  void handle(LinkId link, const rpc::Resume& message);
  void handle(LinkId link, const rpc::Commit& message) { dispatcher.on_commit(link, message); }
  void handle(LinkId link, rpc::Deliver& message) {
    dispatcher.on_deliver(link, std::move(message));
  }
  void handle(LinkId link, const rpc::Refuse& message) { dispatcher.on_refuse(link, message); }
  void handle(LinkId link, const rpc::OpenReply& message) {
    if (const Roster::Peer* peer = roster.at(link)) auditor.on_open_reply(peer->address, message);
  }
  void handle(LinkId link, const rpc::Reveal& message) {
    if (const Roster::Peer* peer = roster.at(link)) lottery.on_reveal(peer->address, message);
  }
  void handle(LinkId link, const rpc::Claims& message) {
    if (const Roster::Peer* peer = roster.at(link)) lottery.on_claims(peer->address, message);
  }
  void handle(LinkId link, const rpc::Transact& message);
  void handle(LinkId link, const rpc::ChainReady& message) { chains.on_ready(link, message); }
  void handle(LinkId link, const rpc::ChainCommit& message) { chains.on_commit(link, message); }
  void handle(LinkId link, const rpc::ChainDeliver& message) { chains.on_deliver(link, message); }
  void handle(LinkId link, const rpc::ChainRefuse& message) { chains.on_refuse(link, message); }
};

}  // namespace commensal::gateway
