// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/claim_desk.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;
using ledger::AccountKind;
using ledger::ClaimStatus;
using protocol::Amount;

namespace {

constexpr double kMsPerDay = 86'400'000;

/// What this gateway has computed again is as good as a replica that errs by a flipped bit.
risk::Evidence evidence_of(const ReceiptRecord& record) {
  const double flips = risk::Prior().error;
  switch (record.audit) {
    case AuditState::kMatched:
      return {.predictions = {}, .replicas = {{true, flips, 0}}, .bets = {}};
    case AuditState::kMismatched:
      return {.predictions = {}, .replicas = {{false, flips, 0}}, .bets = {}};
    default:
      return {};
  }
}

bool is_open(const ledger::ClaimRow& row) { return row.status == ClaimStatus::kOpen; }

}  // namespace

std::vector<core::Digest> ClaimDesk::tickets(bool for_sale, const core::Digest& after,
                                             std::size_t count) const {
  std::vector<core::Digest> found;
  const auto& asked = deps_.bank.state().asked.rows();
  if (for_sale) {
    for (auto row = asked.upper_bound(after); row != asked.end() && found.size() < count; ++row) {
      found.push_back(row->first);
    }
    return found;
  }
  for (const ticket::Record& record : deps_.tickets.open_claims()) {
    if (const core::Digest id = record.id(); id > after) found.push_back(id);
  }
  std::ranges::sort(found);
  if (found.size() > count) found.resize(count);
  return found;
}

Result<OpenClaim> ClaimDesk::claim(const core::Digest& ticket) {
  const ledger::ClaimRow* const row = deps_.bank.state().claims.find(ticket);
  if (row == nullptr || !is_open(*row)) {
    return core::fail(ErrorCode::kNotFound, "ticket: {} is not open", core::to_hex(ticket));
  }
  COMMENSAL_ASSIGN(const ReceiptRecord record, deps_.book.find(row->receipt));
  OpenClaim made;
  made.ticket = ticket;
  made.row = *row;
  made.audit = record.audit;
  if (const Amount* const asked = deps_.bank.state().asked.find(ticket)) made.asked = *asked;
  made.accusations = deps_.bank.state().accused_tickets.get(ticket);
  if (deps_.hub.find(nullptr, record.model, record.version)) made.model = record.model;
  COMMENSAL_ASSIGN(made.quote, quote(record));
  return made;
}

/// What its ticket may still pay to its holder, and when. An audit costs the holder nothing: the
/// gateway pays for it and shows the opening itself.
risk::ClaimOffer ClaimDesk::offer_of(const ReceiptRecord& record, std::uint64_t now_ms) const {
  risk::ClaimOffer offer;
  const protocol::Job& job = record.receipt.job;
  if (record.receipt.round == protocol::kNoDraw) return offer;  // it earns nothing
  offer.face = risk::units_of(job.face_value);
  const core::Digest id = protocol::ticket_id(record.receipt.body());
  if (const ledger::ClaimRow* const row = deps_.bank.state().claims.find(id)) {
    offer.win = is_open(*row) ? 1 : 0;
    const std::uint64_t wait_ms = row->mature_ms - std::min(row->mature_ms, now_ms);
    if (is_open(*row)) offer.wait_days = static_cast<double>(wait_ms) / kMsPerDay;
    return offer;
  }
  const ticket::Record* const known = deps_.tickets.find(id);
  if (known == nullptr || ticket::is_settled(known->state)) {
    offer.win = 0;
    return offer;
  }
  const bool is_drawn = known->state == ticket::State::kWon;
  offer.win = is_drawn || offer.face == 0 ? 1 : seen_of(record).pay / offer.face;
  const auto needed = job.face_value.plus(deps_.bank.state().scalars.config.auditor_fee);
  const Amount escrow = deps_.bank.state().balance(job.client, AccountKind::kEscrow);
  offer.paid = needed && *needed <= escrow ? 1 : 0;
  return offer;
}

/// To add up a long record takes a tenth of a second where every answer was audited: once for all
/// that is asked about it.
Result<const ClaimDesk::Known*> ClaimDesk::known(const crypto::Address& provider) {
  const std::int64_t now_ms = deps_.clock.monotonic_ns() / 1'000'000;
  std::erase_if(known_, [&](const auto& row) {
    return now_ms - row.second.asked_ms >= AuditPolicy::kRefreshMs;
  });
  if (const auto found = known_.find(provider); found != known_.end()) return &found->second;
  RiskFacts facts = deps_.audits.facts(provider);
  COMMENSAL_ASSIGN(risk::Record record, record_of(facts, risk::Prior()));
  const auto made =
      known_.emplace(provider, Known{now_ms, std::move(facts), std::move(record)}).first;
  return &made->second;
}

Result<Quote> ClaimDesk::quote(const ReceiptRecord& record) {
  const auto now_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(deps_.clock.wall_ms(), 0));
  const crypto::Address& provider = record.receipt.job.provider;
  COMMENSAL_ASSIGN(const Known* const its, known(provider));
  const AuditTerms& terms = deps_.audits.terms();
  COMMENSAL_ASSIGN(
      risk::Assessment made,
      risk::assess(its->record, now_ms, policy_of(its->facts, terms),
                   {evidence_of(record), use_of(its->facts, terms), offer_of(record, now_ms)}));
  return Quote{std::move(made), deps_.audits.probability(provider)};
}

}  // namespace commensal::gateway
