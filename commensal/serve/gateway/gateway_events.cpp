// SPDX-License-Identifier: Apache-2.0
// What follows from what happens: receipts are audited, verdicts go to the ledger, who is caught
// gets no more work and its answers are computed again.
#include <commensal/serve/gateway/gateway_state.hpp>
#include <commensal/serve/gateway/model_file.hpp>

namespace commensal::gateway {
namespace {

bool convicts(AuditState state) { return state == AuditState::kMismatched; }

}  // namespace

// After a stop or a kill: the audits that were drawn, and the answers of caught providers. A kill
// between a verdict and what follows from it is made good here.
core::Result<void> Gateway::State::resume() {
  COMMENSAL_TRY(bank.open());
  COMMENSAL_TRY(lottery.open());
  COMMENSAL_TRY(book.open());
  COMMENSAL_TRY(book.sweep());
  COMMENSAL_TRY(roster.open());
  COMMENSAL_TRY(audit_policy.open(book, bank.state()));
  COMMENSAL_TRY(rollouts.open());
  for (const ticket::Record& one : lottery.tickets().in(ticket::State::kOpened)) {
    const core::Digest receipt = protocol::receipt_id(one.body);
    if (book.contains(receipt)) events.push(event::AuditDue{receipt});
  }
  std::map<crypto::Address, std::uint64_t> answers;
  COMMENSAL_ASSIGN(const auto drawn, book.select([&](const ReceiptRecord& record) {
    ++answers[record.receipt.job.provider];
    return record.audit == AuditState::kDrawn || convicts(record.audit);
  }));
  for (const auto& [provider, count] : answers) roster.remember(provider, count);
  for (const ReceiptRecord& record : drawn) {
    if (record.audit == AuditState::kDrawn) {
      auditor.request(record.id());
      continue;
    }
    // A kill may have come between the verdict and the ledger, or the ban.
    core::Result<std::optional<Judgement>> judged{std::optional<Judgement>()};
    if (record.verdict) judged = judge_in_ledger(record);
    events.report(judged);
    if (record.replaced_by) continue;  // it has had its consequences
    if (is_penalised(record, judged ? *judged : std::nullopt)) {
      replace_later(record);
    } else if (!roster.was_banned(record.receipt.job.provider)) {
      ban(record);
    }
  }
  std::set<crypto::Address> banned;
  for (const auto& [address, peer] : roster.peers()) {
    if (!peer.banned.empty()) banned.insert(address);
  }
  replace_doubtful(banned);
  return {};
}

void Gateway::State::handle(event::StepMade& event) {
  if (event.work->order != 0) {
    dispatcher.on_made(event);
  } else {
    rollouts.on_made(event);
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
  }
}

void Gateway::State::handle(event::StepKept& event) {
  if (event.work->order != 0) {
    answers.on_kept(event);
  } else {
    rollouts.on_kept(event);
  }
  if (!event.record) return;
  const ReceiptRecord& record = *event.record;
  observer.on_receipt(record);
  audit_policy.on_receipt(record);
  if (record.audit == AuditState::kDrawn) auditor.request(record.id());
  // Its provider may have been caught while this answer was on its way.
  if (is_banned(record.receipt.job.provider)) replace_later(record);
}

void Gateway::State::handle(const event::AuditDue& event) {
  auto record = book.find(event.receipt);
  if (!record) return events.report(record);
  if (record->verdict) {  // audited before its draw
    const auto judged = judge_in_ledger(*record);
    events.report(judged);
    const bool goes_on = is_penalised(*record, judged ? *judged : std::nullopt);
    if (convicts(record->audit) && goes_on) replace_later(*record);
    return;
  }
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
  events.report(book.update(*record));
  observer.on_verdict(*record);
  audit_policy.on_verdict(*record);
  const auto judged = judge_in_ledger(*record);
  events.report(judged);
  rollouts.on_audit(*record);
  if (!convicts(record->audit)) return;
  // Cards do flip bits: who has paid for a first mismatch goes on.
  if (is_penalised(*record, judged ? *judged : std::nullopt)) return replace_later(*record);
  const crypto::Address& provider = record->receipt.job.provider;
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
  rollouts.on_audit(*record);
}

/// A verdict that the ledger has a use for.
core::Result<std::optional<Judgement>> Gateway::State::judge_in_ledger(
    const ReceiptRecord& record) {
  COMMENSAL_ASSIGN(const auto judged, winners.judge(record.receipt, *record.verdict));
  if (!judged) return judged;
  observer.on_judged(record, *judged);
  audit_policy.on_change(record.receipt.job.provider);
  tell_balance(record.receipt.job.provider);
  return judged;
}

/// Of one that was judged before its ticket says how; where that is forgotten, it was decided then.
bool Gateway::State::is_penalised(const ReceiptRecord& record,
                                  const std::optional<Judgement>& judged) const {
  if (judged) return judged->event == ticket::Event::kPenalise;
  const core::Digest id = protocol::ticket_id(record.receipt.body());
  if (const ticket::Record* const found = lottery.tickets().find(id)) {
    return found->state == ticket::State::kPenalised;
  }
  const ledger::ClaimRow* const claim = bank.state().claims.find(id);
  return claim != nullptr && claim->status == ledger::ClaimStatus::kRefused;
}

bool Gateway::State::is_banned(const crypto::Address& provider) {
  const Roster::Peer* peer = roster.by_address(provider);
  return peer != nullptr && !peer->banned.empty();
}

void Gateway::State::ban(const ReceiptRecord& record) {
  const crypto::Address& provider = record.receipt.job.provider;
  const std::string why =
      fmt::format("receipt {}: {}", core::to_hex(record.id()), record.verdict->reason);
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
    tick();
  });
}

}  // namespace commensal::gateway
