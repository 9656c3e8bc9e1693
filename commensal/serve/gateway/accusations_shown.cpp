// SPDX-License-Identifier: Apache-2.0
// What accusations show to those who ask: accusers, auditors that are accused, and those drawn.
#include <commensal/serve/gateway/accusations.hpp>

namespace commensal::gateway {

using ledger::CaseRow;
using ledger::CaseStatus;

std::optional<cases::Brief> Accusations::next(const crypto::Address& party, arbiter::Side side,
                                              const cases::Wanted& wanted) const {
  const ledger::State& state = deps_.bank.state();
  const bool accuses = side == arbiter::Side::kChallenger;
  if (accuses ? state.accused.rows().empty() : state.accused.get(party) == 0) return std::nullopt;
  for (const auto& [key, row] : state.cases.rows()) {
    const crypto::Address& its_party = accuses ? key.accuser : row.dispute.accused;
    if (its_party != party || !is_pending(row.status)) continue;
    if (wanted.subject && key.subject != *wanted.subject) continue;
    // A provider hears on its stream; who has accused has the inputs.
    const protocol::Job& job = row.dispute.receipt.job;
    const bool is_public = job.auditors == protocol::AuditorClass::kPublic;
    if (!accuses && (row.dispute.accused == job.provider || !is_public)) continue;
    const auto record = deps_.book.find(receipt_of(row));
    if (!record) continue;
    // Moves show some of them.
    const bool is_free = !wanted.account || (wanted.or_public && is_public);
    if (!is_free && record->account != *wanted.account) continue;
    const cases::Case at = case_of(key, row);
    if (!cases::has_turn(at, side, deps_.bank.arbiter())) continue;
    std::optional<receipt::StepTask> task;
    if (!accuses) {
      auto shown = show(receipt_of(row));
      if (!shown) continue;
      task = std::move(shown->second);
    }
    return cases::Brief{key,
                        at.dispute,
                        at.status,
                        at.moves,
                        record->model,
                        record->version,
                        record->model_content,
                        std::move(task)};
  }
  return std::nullopt;
}

std::optional<receipt::Assignment> Accusations::take(const crypto::Address& auditor) const {
  const ledger::State& state = deps_.bank.state();
  if (state.accused.rows().empty()) return std::nullopt;
  for (const auto& [key, row] : state.cases.rows()) {
    const bool waits = row.status == CaseStatus::kAccused || row.status == CaseStatus::kUndecided;
    if (!waits || row.called.empty() || !ledger::check_reporter(state, key, row, auditor)) continue;
    auto shown = show(key, row);
    if (!shown) continue;
    const ReceiptRecord& record = shown->first;
    const bool is_of_report = key.subject != record.id();
    return receipt::Assignment{
        row.dispute.receipt,     record.model, record.version,
        record.model_content,    key.accuser,  is_of_report ? record.report : std::nullopt,
        std::move(shown->second)};
  }
  return std::nullopt;
}

/// What those who are called for a case need, if it is all here.
std::optional<std::pair<ReceiptRecord, receipt::StepTask>> Accusations::show(
    const Key& key, const CaseRow& row) const {
  auto shown = show(receipt_of(row));
  if (!shown || key.subject == receipt_of(row)) return shown;
  const auto& report = shown->first.report;
  return report && protocol::report_id(*report) == key.subject ? std::move(shown) : std::nullopt;
}

/// Of one that is kept.
std::optional<std::pair<ReceiptRecord, receipt::StepTask>> Accusations::show(
    const core::Digest& receipt) const {
  auto record = deps_.book.find(receipt);
  if (!record || !deps_.book.may_be_shown(*record)) return std::nullopt;
  auto opening = deps_.book.opening(*record);
  if (!opening) return std::nullopt;
  return std::pair{*std::move(record), std::move(opening->task)};
}

}  // namespace commensal::gateway
