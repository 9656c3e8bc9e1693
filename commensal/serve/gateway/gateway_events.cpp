// SPDX-License-Identifier: Apache-2.0
// What follows from what happens: receipts are audited, verdicts go to the ledger, who is caught
// gets no more work and its answers are computed again.
#include <commensal/serve/gateway/gateway_state.hpp>
#include <commensal/serve/gateway/model_file.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>
#include <utility>

namespace commensal::gateway {
namespace {

bool convicts(AuditState state) { return state == AuditState::kMismatched; }

}  // namespace

// After a stop or a kill: the audits that were drawn, and the answers of caught providers. A kill
// between a verdict and what follows from it is made good here.
core::Result<void> Gateway::State::resume() {
  COMMENSAL_TRY(bank.open());
  COMMENSAL_TRY(accounts.open());
  COMMENSAL_TRY(test_money.open(accounts));
  COMMENSAL_TRY(lottery.open());
  COMMENSAL_TRY(book.open());
  COMMENSAL_TRY(book.sweep());
  COMMENSAL_TRY(roster.open());
  COMMENSAL_TRY(expect_providers());
  COMMENSAL_TRY(audit_policy.open(book, bank.state()));
  COMMENSAL_TRY(rollouts.open());
  accusations.open();
  COMMENSAL_TRY(uploads.open());
  COMMENSAL_TRY(hub.find_strays());
  COMMENSAL_TRY(holders.open());
  removals.watch();
  recalls.watch();
  for (const ticket::Record& one : lottery.tickets().open_claims()) {
    const core::Digest receipt = protocol::receipt_id(one.body);
    if (book.contains(receipt)) events.push(event::AuditDue{receipt});
  }
  std::map<crypto::Address, std::uint64_t> answers;
  COMMENSAL_ASSIGN(const auto drawn, book.select([&](const ReceiptRecord& record) {
    ++answers[record.receipt.job.provider];
    count(record);
    return record.audit == AuditState::kDrawn || convicts(record.audit);
  }));
  for (const auto& [provider, count] : answers) roster.remember(provider, count);
  for (const ReceiptRecord& record : drawn) {
    if (record.audit == AuditState::kDrawn) {
      auditor.request(record.id());
      continue;
    }
    resume_mismatch(record);
  }
  std::set<crypto::Address> banned;
  for (const auto& [address, peer] : roster.peers()) {
    if (!peer.banned.empty()) banned.insert(address);
  }
  replace_doubtful(banned);
  return {};
}

/// Whoever asks before they are back waits for them, for a while.
core::Result<void> Gateway::State::expect_providers() {
  COMMENSAL_ASSIGN(const auto before, presence.open());
  if (before.empty()) return {};
  roster.expect(before);
  loop.after(limits::kReturnMsMax, [this] {
    roster.end_expecting();
    dispatcher.on_available();
  });
  return {};
}

/// A kill may have come between the verdict and its accusation, or the ban; or between what the
/// ledger found and what follows from it.
void Gateway::State::resume_mismatch(const ReceiptRecord& record) {
  const crypto::Address& provider = record.receipt.job.provider;
  const ledger::CaseRow* const row = bank.state().cases.find({record.id(), bank.address()});
  const bool is_convicted = row != nullptr && row->status == ledger::CaseStatus::kConvicted;
  const bool is_pardoned = row != nullptr || ledger::is_isolated(bank.state(), provider);
  if (record.verdict) follow_verdict(record);
  if (is_convicted) {
    events.report(winners.resume_convicted(record.receipt));
    if (!roster.was_banned(provider)) on_convicted(record);
    accusations.bring_report(record);
  }
  if (record.replaced_by || roster.was_banned(provider)) return;
  is_pardoned ? replace_later(record) : ban(record);
}

void Gateway::State::handle(event::StepMade& event) {
  if (event.work->order != 0) {
    audit_policy.on_made(event.work->job().provider);
    dispatcher.on_made(event);
  } else {
    rollouts.on_made(event);
    dispatcher.on_free();
  }
  deliveries.on_made(event);
}

void Gateway::State::doubt_file(const event::StepLost& event) {
  const bool may_be_ours =
      event.loss == Loss::kRefused && event.error.code == core::ErrorCode::kDataLoss;
  const auto now_ms = [this] { return deps.clock.monotonic_ns() / 1'000'000; };
  if (!may_be_ours || !doubts.begin(event.work->content, now_ms())) return;
  struct Look {
    core::Path file;
    WorkPtr work;
    core::Result<void> found;
    std::int64_t took_ms = 0;
  };
  const auto look = std::make_shared<Look>(Look{hub.path_of(event.work->content), event.work, {}});
  loop.offload(
      core::Loop::Lane::kFiles,
      [look, now_ms] {
        const std::int64_t began_ms = now_ms();
        look->found = check_model_file(look->file, look->work->content);
        look->took_ms = now_ms() - began_ms;
      },
      [this, look, now_ms] {
        doubts.end(look->took_ms, now_ms());
        if (look->found) return;
        const core::Error& error = look->found.error();
        observer.on_error({error.code, fmt::format("the model '{}' must be pushed again: {}",
                                                   look->work->model, error.message)});
      });
}

void Gateway::State::handle(event::StepLost& event) {
  doubt_file(event);
  if (event.work->order != 0) {
    dispatcher.on_lost(event);
  } else {
    rollouts.on_lost(event);
    dispatcher.on_free();
  }
}

void Gateway::State::handle(event::StepKept& event) {
  if (event.work->order != 0) {
    audit_policy.on_kept(event.work->job().provider);
    answers.on_kept(event);
  } else {
    rollouts.on_kept(event);
    dispatcher.on_free();
  }
  if (!event.record) return;
  const ReceiptRecord& record = *event.record;
  count(record);
  observer.on_receipt(record);
  audit_policy.on_receipt(record);
  if (record.audit == AuditState::kDrawn) auditor.request(record.id());
  // Its provider may have been caught while this answer was on its way.
  if (is_banned(record.receipt.job.provider)) replace_later(record);
}

void Gateway::State::handle(const event::AuditDue& event) {
  auto record = book.find(event.receipt);
  if (!record) return events.report(record);
  if (record->verdict) return follow_verdict(*record);  // audited before its draw
  // A winner that could not be re-executed then may be now.
  if (record->audit == AuditState::kNotDrawn || record->audit == AuditState::kFailed) {
    record->audit = AuditState::kDrawn;
    if (auto kept = book.update(*record); !kept) return events.report(kept);
    rollouts.on_audit(*record);
  }
  if (record->audit != AuditState::kDrawn && record->audit != AuditState::kReplaced) return;
  event.at_once ? auditor.request_here(event.receipt) : auditor.request(event.receipt);
}

void Gateway::State::handle(const event::Audited& event) {
  auto record = book.find(event.receipt);
  if (!record || record->verdict) return;
  const bool is_match = event.verdict.outcome == protocol::Outcome::kMatch;
  record->audit = is_match ? AuditState::kMatched : AuditState::kMismatched;
  record->verdict = event.verdict;
  const auto told = [this](const core::Result<void>& kept) { events.report(kept); };
  store.together_later(
      loop, [&] { return book.update(*record); }, told);
  observer.on_verdict(*record);
  audit_policy.on_verdict(*record);
  follow_verdict(*record);
  rollouts.on_audit(*record);
  if (!convicts(record->audit)) return;
  // Cards do flip bits: who has a long record pays for a first mismatch and goes on.
  const crypto::Address& provider = record->receipt.job.provider;
  if (ledger::is_isolated(bank.state(), provider)) return replace_later(*record);
  if (!is_banned(provider)) {
    ban(*record);
    replace_doubtful({provider});
  }
}

/// Nobody is accused, and nothing waits for it any longer; a winner is paid in time.
void Gateway::State::handle(const event::Unaudited& event) {
  auto record = book.find(event.receipt);
  if (!record || record->audit != AuditState::kDrawn) return;
  record->audit = AuditState::kFailed;
  events.report(book.update(*record));
  audit_policy.on_verdict(*record);
  rollouts.on_audit(*record);
}

/// An open winner is paid, or its provider accused, as is that of any other ticket.
void Gateway::State::follow_verdict(const ReceiptRecord& record) {
  if (!lottery.is_on() || record.receipt.round == protocol::kNoDraw) return;
  if (convicts(record.audit)) return accusations.bring(record);
  const auto judged = winners.judge(record.receipt, *record.verdict);
  events.report(judged);
  if (!judged || !*judged) return;
  reserves.fill();
  observer.on_judged(record, **judged);
  audit_policy.on_change(record.receipt.job.provider);
  tell_balance(record.receipt.job.provider);
}

void Gateway::State::handle(const event::CaseMoved& event) {
  // A conviction ends the other cases of its subject as well.
  std::vector<ledger::CaseKey> keys;
  const auto& rows = bank.state().cases.rows();
  for (auto row = rows.lower_bound({event.key.subject, {}});
       row != rows.end() && row->first.subject == event.key.subject; ++row) {
    keys.push_back(row->first);
  }
  for (const ledger::CaseKey& key : keys) accusations.on_moved(key);
  const ledger::CaseRow& row = *bank.state().cases.find(event.key);
  observer.on_case(event.key, row, event.entry);
  if (is_pending(event.status)) return;
  const crypto::Address accused = row.dispute.accused;
  const bool is_provider = accused == row.dispute.receipt.job.provider;
  if (!ticket::is_undecided(tickets, row.ticket)) book.on_settled(row.ticket);
  const auto record = book.find(event.key.subject);
  if (record && is_provider && event.status == ledger::CaseStatus::kConvicted) {
    const auto judged = winners.on_convicted(record->receipt, event.entry);
    events.report(judged);
    if (judged && judged->taken != protocol::Amount()) observer.on_judged(*record, *judged);
    on_convicted(*record);
  }
  audit_policy.on_change(accused);
  tell_balance(accused);
  if (!is_banned(accused) || has_to_answer(accused)) return;
  recalls.on_ban(accused);  // who was accused was not asked before
  roster.dismiss(accused);
}

/// What its provider has sold it has been paid, and cannot lose any more.
void Gateway::State::handle(const event::ClaimTraded& event) {
  const auto provider = winners.tell_traded(event.ticket);
  const ticket::Record* const record = tickets.find(event.ticket);
  if (!provider || record == nullptr || record->state != ticket::State::kSold) return;
  audit_policy.on_change(*provider);
  tell_balance(*provider);
}

void Gateway::State::on_convicted(const ReceiptRecord& record) {
  accusations.bring_report(record);
  // One that was pardoned, and is no isolated one any more.
  const crypto::Address& provider = record.receipt.job.provider;
  const ledger::AuditRecord found = bank.state().audits.get(provider);
  const bool is_pattern = found.mismatches >= bank.state().scalars.config.pattern_mismatches;
  const bool has_stake = stake_of(bank.state(), provider) != protocol::Amount();
  if ((has_stake && !is_pattern) || is_banned(provider)) return;
  ban(record);
  replace_doubtful({provider});
}

bool Gateway::State::has_to_answer(const crypto::Address& provider) const {
  if (accusations.concerns(provider)) return true;
  const auto& claims = bank.state().claims;
  return std::ranges::any_of(tickets.open_claims(), [&](const ticket::Record& one) {
    const ledger::ClaimRow* const claim = claims.find(one.id());
    return claim != nullptr && claim->provider == provider &&
           claim->status == ledger::ClaimStatus::kOpen;
  });
}

void Gateway::State::await_statements(StreamId stream) {
  if (roster.at(stream)->privacy) return;
  loop.after(limits::kStatementsWaitMs, [this, stream] {
    if (roster.end_statements_wait(stream)) on_shown(roster.at(stream)->address);
  });
}

void Gateway::State::handle(StreamId stream, const rpc::Statements& message) {
  Roster::Peer* const peer = roster.at(stream);
  if (peer == nullptr || std::exchange(peer->has_shown, true)) return;
  peer->privacy = privacy.classes_of(message.items, peer->address, deps.clock.wall_ms(),
                                     [this](const core::Error& why) { observer.on_error(why); });
  on_shown(peer->address);
}

/// Which private inputs it may see is known now.
void Gateway::State::on_shown(const crypto::Address& provider) {
  accusations.on_connected(provider);
  rollouts.on_available(provider);
  dispatcher.on_available();
}

bool Gateway::State::is_banned(const crypto::Address& provider) {
  const Roster::Peer* peer = roster.by_address(provider);
  return peer != nullptr && !peer->banned.empty();
}

void Gateway::State::ban(const ReceiptRecord& record) {
  const crypto::Address& provider = record.receipt.job.provider;
  const std::string why =
      fmt::format("receipt {}: {}", core::to_hex(record.id()),
                  record.verdict ? record.verdict->reason : "its provider was convicted");
  recalls.on_ban(provider);
  events.report(roster.ban(provider, why));
  observer.on_provider_banned(provider, why);
  rollouts.on_banned(provider, fmt::format("its provider was caught: {}", why));
}

/// A rollout ends where a step of it was wrong; nothing of it is computed again.
void Gateway::State::replace_later(const ReceiptRecord& record) {
  if (record.is_wanted && record.receipt.job.traits().is_movable) consequences.add(record.id());
}

void Gateway::State::replace_doubtful(const std::set<crypto::Address>& providers) {
  if (providers.empty()) return;
  const auto doubtful = book.select([&](const ReceiptRecord& record) {
    return providers.contains(record.receipt.job.provider) && !record.replaced_by &&
           record.audit != AuditState::kMatched;
  });
  if (!doubtful) return events.report(doubtful);
  for (const ReceiptRecord& record : *doubtful) replace_later(record);
}

void Gateway::State::tick() {
  if (!lottery.is_on()) return;
  loop.after(config.money.round_ms, [this] {
    winners.tick();
    lottery.tick();
    withheld.tick();
    accusations.tick();
    reserves.fill();
    tell_covers(false);
    tick();
  });
}

}  // namespace commensal::gateway
