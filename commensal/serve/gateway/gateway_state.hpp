// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/scoped_loop.hpp>
#include <commensal/serve/gateway/accusations.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/serve/gateway/claim_desk.hpp>
#include <commensal/serve/gateway/consequences.hpp>
#include <commensal/serve/gateway/covers.hpp>
#include <commensal/serve/gateway/deliveries.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/gateway/model_file.hpp>
#include <commensal/serve/gateway/presence.hpp>
#include <commensal/serve/gateway/recalls.hpp>
#include <commensal/serve/gateway/removals.hpp>
#include <commensal/serve/gateway/reserves.hpp>
#include <commensal/serve/gateway/served.hpp>
#include <commensal/serve/gateway/test_money.hpp>
#include <commensal/serve/gateway/withheld.hpp>
#include <commensal/trade/pay/ticket/undecided.hpp>

/// The inside of Gateway, for its own sources only: gateway.cpp is its face and what providers say,
/// gateway_events.cpp what follows from what happens, gateway_ledger.cpp what people ask of the
/// ledger, gateway_models.cpp what they ask of models.
namespace commensal::gateway {

/// Each part sees those before it, and nothing of those behind it (events.hpp).
struct Gateway::State {
  core::ScopedLoop loop;
  GatewayDependencies deps;
  GatewayConfig config;
  Observer silent;
  Observer& observer;
  EventQueue events;
  // Tables.
  store::JointStore store;
  Accounts accounts;
  Invitations invitations;
  ActLog acts;
  Quotas quotas;
  ModelHub hub;
  Uploads uploads;
  Holders holders;
  ReceiptBook book;
  const PrivacyAuditors privacy;
  Roster roster;
  Presence presence;
  // Money.
  Bank bank;
  Reserves reserves;
  TestMoney test_money;
  ticket::TicketBook tickets;
  Lottery lottery;
  Winners winners;
  Withheld withheld;
  Covers covers;
  Till till;
  Transactions transactions;
  crypto::SecretKey auditor_key;
  AuditPolicy audit_policy;
  ClaimDesk claim_desk;
  // Answers.
  Shares shares;
  Steps steps;
  Dispatcher dispatcher;
  Rollouts rollouts;
  Deliveries deliveries;
  Answers answers;
  // Audits.
  Auditor auditor;
  Accusations accusations;
  Consequences consequences;
  Removals removals;
  Recalls recalls;
  Doubts doubts;
  Served served;

  Rollouts::Dependencies rollouts_on(const GatewayDependencies& w, const GatewayConfig& c) {
    return {loop,
            w.clock,
            w.rng,
            store,
            w.key,
            auditor_key.address(),
            roster,
            hub,
            lottery,
            audit_policy,
            bank,
            book,
            till,
            events,
            steps,
            shares,
            privacy,
            accounts,
            {c.rollouts_kept_max, c.quotas.rollouts_max}};
  }

  State(const GatewayDependencies& w, const GatewayConfig& c)
      : loop(w.loop),
        deps(w),
        config(c),
        observer(w.observer != nullptr ? *w.observer : silent),
        events(
            loop,
            [this](event::Any& event) { std::visit([this](auto& kind) { handle(kind); }, event); },
            [this] { deliveries.flush(steps.awaited()); }),
        store(w.store),
        accounts(store, w.rng, w.clock),
        invitations(store, w.rng, w.clock),
        acts(store, w.clock, c.acts_kept_max),
        quotas(c.quotas),
        hub(store, c.folder / "models", w.clock, c.quotas.models),
        uploads(store, c.folder / "uploads", w.clock, w.rng, hub),
        holders(store, w.clock, hub),
        book(store, c.receipts, OpeningFolder(c.folder / "openings", c.receipts.opening_row_max)),
        privacy(c.privacy_auditors),
        roster(store, w.rng, w.key, w.clock),
        presence(loop, w.clock, store, events),
        bank(store, w.clock, w.key, c.money.rules, c.money.checkpoint_entries),
        reserves(w.clock, bank, events, c.money),
        test_money(store, bank, c.money),
        tickets(store, w.clock, Lottery::book_config(c.money)),
        lottery({loop, store, w.clock, w.rng, w.key, bank, roster, events, tickets}, c.money),
        winners(loop, w.clock, bank, roster, book, events, lottery, tickets),
        withheld(w.clock, book, events, tickets),
        covers(w.clock, bank, lottery, roster),
        till(book, bank, c.money.price),
        transactions(loop, w.clock, bank),
        auditor_key(bank.auditor_key()),
        audit_policy(loop, w.clock, events,
                     {.floor = c.audit_probability, .pay = expected_pay(c.money)}, c.audit_by_risk),
        claim_desk({w.clock, bank, tickets, book, hub, audit_policy}),
        steps({loop, w.clock, store, w.key, roster, lottery, events}, c.silence_ms_max, c.ops_max),
        dispatcher(
            {loop, w.clock, w.rng, w.key, roster, shares, lottery, audit_policy, steps, events},
            {c.pause_ms_max, c.tries_max, auditor_key.address(), c.outside_auditors}),
        rollouts(rollouts_on(w, c)),
        deliveries({loop, w.clock, w.rng, store, book, till, audit_policy, events}),
        answers({loop, hub, book, lottery, till, dispatcher, observer, events, privacy}),
        auditor({loop, w.clock, auditor_key, hub, book, events, w.engines, w.rng,
                 c.recheck_probability, [this](const crypto::Address& one) { return lots_of(one); },
                 [this](const protocol::Receipt& of) { return beacon_of(of); }}),
        accusations({loop, w.clock, w.key, hub, book, bank, roster, events, auditor.replayer()}),
        consequences(loop, book, answers),
        removals({loop, w.clock, hub, uploads, book, rollouts, accusations, events}),
        recalls({loop, w.clock, store, hub, roster, holders, rollouts, accusations, events},
                c.private_idle_ms) {
    roster.hear_if([this](const crypto::Address& provider) { return has_to_answer(provider); });
    roster.on_grant([this](const crypto::Address& provider, const core::Digest& content) {
      return on_grant(provider, content);
    });
    roster.on_turned_away([this](const crypto::Address& provider, StreamId stream) {
      recalls.on_turned_away(provider, stream);
    });
    bank.heed([this](const ledger::Entry& entry) { on_booked(entry); });
    // Not before it is durable that nothing refers to them.
    const auto remove_later = [this](const std::function<void()>& remove) {
      store.when_durable([this, remove](const core::Result<void>& written) {
        if (written) loop.offload(core::Loop::Lane::kFiles, remove, [] {});
      });
    };
    book.remove_by(remove_later);
    hub.remove_by(remove_later);
    uploads.remove_by(remove_later);
    book.keep_while([this](const core::Digest& ticket) {
      return ticket::is_undecided(tickets, ticket) || bank.state().accused_tickets.get(ticket) > 0;
    });
    audit_policy.on_asked([this] { dispatcher.on_available(); });
    lottery.heed([this](const crypto::Address& provider) { return book.reservation(provider); });
    tickets.on_settled([this](const core::Digest& ticket) { book.on_settled(ticket); });
  }

  void on_booked(const ledger::Entry& entry) {
    events.report(winners.on_booked(entry));
    const auto key = case_of(entry.transaction);
    if (key) events.push(event::CaseMoved{*key, bank.state().cases.find(*key)->status, entry});
    const auto* const reveal = std::get_if<ledger::Reveal>(&entry.transaction.body);
    if (reveal != nullptr && entry.transaction.sender != bank.address()) {
      events.push(event::Revealed{reveal->hash_chain, reveal->round, reveal->value});
    }
    if (covers.is_less(entry)) loop.post([this] { tell_covers(false); });
  }
  core::Result<void> resume();
  void count(const ReceiptRecord& record);
  bool on_grant(const crypto::Address& provider, const core::Digest& content);
  core::Result<void> expect_providers();
  void tick();
  void tell_balance(const crypto::Address& provider, bool is_answer = false);
  /// What the gateway has for winners, whom that is news to; `at_once`: not so many a second.
  void tell_covers(bool at_once);
  core::Result<void> check_transact(const ledger::Transaction& transaction,
                                    const crypto::Address& provider);
  void close(StreamId stream);

  // One overload per event.
  void handle(event::StepMade& event);
  void handle(event::StepLost& event);
  void handle(event::OpeningFiled& event) { deliveries.on_filed(event); }
  void handle(event::StepKept& event);
  void handle(event::Unanswered& event) { answers.on_unanswered(event); }
  void handle(const event::Replaced& event) { consequences.on_replaced(event); }
  void handle(const event::AuditDue& event);
  void handle(const event::Revealed& event) { lottery.on_revealed(event); }
  void handle(const event::CaseMoved& event);
  void handle(const event::ClaimTraded& event);
  void handle(const event::Audited& event);
  void handle(const event::Unaudited& event);
  void handle(const event::Failed& event) { observer.on_error(event.error); }

  /// A provider says that a model came damaged: looks at the file, and says which to push again.
  void doubt_file(const event::StepLost& event);
  core::Result<void> check_auditor(const crypto::Address& auditor) const;
  /// What audits are drawn by.
  std::uint64_t lots_of(const crypto::Address& auditor) const;
  std::optional<core::Digest> beacon_of(const protocol::Receipt& receipt) const;
  void follow_verdict(const ReceiptRecord& record);
  void on_convicted(const ReceiptRecord& record);
  void resume_mismatch(const ReceiptRecord& record);
  bool is_banned(const crypto::Address& provider);
  /// It is accused, or may be: it has winners that are not judged yet.
  bool has_to_answer(const crypto::Address& provider) const;
  void ban(const ReceiptRecord& record);
  void replace_later(const ReceiptRecord& record);
  void replace_doubtful(const std::set<crypto::Address>& providers);

  // One overload per message of a provider.
  void handle(StreamId stream, const rpc::Hello& message);
  void handle(StreamId stream, const rpc::Load& message) {
    roster.on_load(stream, message, deps.clock.monotonic_ns() / 1'000'000);
  }
  void handle(StreamId stream, const rpc::Pause& message);
  void handle(StreamId stream, const rpc::Resume& message);
  void handle(StreamId stream, const rpc::Commit& message) { steps.on_commit(stream, message); }
  void handle(StreamId stream, const rpc::Deliver& message) { steps.on_deliver(stream, message); }
  void handle(StreamId stream, const rpc::Refuse& message);
  void handle(StreamId stream, const rpc::Reveal& message) {
    if (const Roster::Peer* peer = roster.at(stream)) lottery.on_reveal(peer->address, message);
  }
  void handle(StreamId stream, const rpc::Claims& message) {
    if (const Roster::Peer* peer = roster.at(stream)) winners.on_claims(peer->address, message);
  }
  void handle(StreamId stream, const rpc::Transact& message);
  void handle(StreamId stream, const rpc::Statements& message);
  void handle(StreamId stream, const rpc::Released& message);
  void handle(StreamId stream, const rpc::HostNow& message) {
    if (Roster::Peer* const peer = roster.at(stream)) peer->host = message.host;
  }
  void await_statements(StreamId stream);
  void on_shown(const crypto::Address& provider);
};

}  // namespace commensal::gateway
