// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/sim/testing/inspector.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>
#include <commensal/trade/pay/ticket/book.hpp>

namespace commensal::sim::testing {

using core::Digest;
using core::ErrorCode;
using core::fail;
using core::Result;
using ledger::AccountKind;
using ledger::ClaimStatus;
using protocol::Amount;
using ticket::State;

namespace {

/// Who the face value of a claim went to, if not back: its holder. The auditor's fee is less.
bool pays(const ledger::Entry& entry, const Amount& face) {
  const ledger::AccountId reserved{entry.transaction.ledger, AccountKind::kClaims};
  return std::ranges::any_of(entry.postings, [&](const ledger::Posting& posting) {
    return posting.from == reserved && posting.to.kind == AccountKind::kAvailable &&
           posting.to.owner != entry.transaction.ledger && posting.amount == face;
  });
}

/// What somebody lost of what is locked.
std::uint64_t taken_by(const ledger::Entry& entry) {
  std::uint64_t taken = 0;
  for (const ledger::Posting& posting : entry.postings) {
    const AccountKind kind = posting.from.kind;
    const bool locked = kind == AccountKind::kStake || kind == AccountKind::kWithdrawing ||
                        kind == AccountKind::kPenaltyEscrow;
    if (locked) taken += posting.amount.low();
  }
  return taken;
}

/// Where books may stand for what the ledger says of a ticket.
struct Stand {
  ClaimStatus status;
  State state;
};
constexpr Stand kStands[] = {
    {ClaimStatus::kOpen, State::kOpened},       {ClaimStatus::kOpen, State::kSold},
    {ClaimStatus::kPaid, State::kPaid},         {ClaimStatus::kRefused, State::kPenalised},
    {ClaimStatus::kRefused, State::kSlashed},   {ClaimStatus::kDefaulted, State::kPaid},
    {ClaimStatus::kDefaulted, State::kSlashed}, {ClaimStatus::kSilent, State::kSlashed},
};

bool may_stand(ClaimStatus status, State state) {
  return std::ranges::any_of(
      kStands, [&](const Stand& row) { return row.status == status && row.state == state; });
}

}  // namespace

Result<void> MoneyInspector::read_on() {
  while (true) {
    COMMENSAL_ASSIGN(const auto bytes, disk_.get(ledger::kJournalSpace, ledger::key_of(entries_)));
    if (!bytes) break;
    COMMENSAL_ASSIGN(const auto entry, protocol::decode<ledger::Entry>(*bytes));
    if (entry.sequence != entries_ || entry.previous != head_) {
      return fail(ErrorCode::kInternal, "entry {} does not follow from what was read", entries_);
    }
    COMMENSAL_TRY(read(entry));
    head_ = ledger::entry_hash(*bytes);
    ++entries_;
  }
  return {};
}

Result<void> MoneyInspector::inspect(const ledger::State& state) {
  if (ledger::head_of(state) == ledger::Head{entries_, head_}) return {};
  COMMENSAL_TRY(read_on());
  if (ledger::head_of(state) != ledger::Head{entries_, head_}) {
    return fail(ErrorCode::kInternal, "the journal on disk is not that of the state");
  }
  COMMENSAL_TRY(ledger::check_all(state));
  Amount held;
  for (const auto& [account, amount] : state.balances.rows()) {
    if (account == ledger::kOutside) continue;
    COMMENSAL_ASSIGN(held, held.plus(amount));
  }
  COMMENSAL_ASSIGN(const Amount expected, came_in_.minus(went_out_));
  if (held == expected) return {};
  return fail(ErrorCode::kInternal, "the accounts hold {}, {} came in and did not leave",
              to_text(held), to_text(expected));
}

Result<void> MoneyInspector::verify(const ledger::State& state) {
  const cases::LedgerArbiter arbiter;
  COMMENSAL_ASSIGN(const auto verified, ledger::verify(disk_, ledger::Signatures(), {}, &arbiter));
  if (verified.root == ledger::state_root(state)) return {};
  return fail(ErrorCode::kInternal, "the journal adds up to another state");
}

Result<void> MoneyInspector::read(const ledger::Entry& entry) {
  for (const ledger::Posting& posting : entry.postings) {
    const std::uint64_t units = posting.amount.low();
    if (posting.from == ledger::kOutside) {
      COMMENSAL_ASSIGN(came_in_, came_in_.plus(posting.amount));
      counts_.came_in += units;
    }
    if (posting.to == ledger::kOutside) {
      COMMENSAL_ASSIGN(went_out_, went_out_.plus(posting.amount));
      counts_.went_out += units;
    }
    if (posting.to == ledger::kBurnt) counts_.burnt += units;
  }
  return count_claim(entry);
}

Result<void> MoneyInspector::pay_once(const Digest& ticket) {
  if (paid_.insert(ticket).second) return {};
  return fail(ErrorCode::kInternal, "ticket {} is paid twice", core::to_hex(ticket));
}

Result<void> MoneyInspector::count_claim(const ledger::Entry& entry) {
  const ledger::Body& body = entry.transaction.body;
  if (std::holds_alternative<ledger::Open>(body)) ++counts_.opened;
  if (std::holds_alternative<ledger::Concede>(body)) ++counts_.conceded;
  if (std::holds_alternative<ledger::Argue>(body)) ++counts_.moves;
  if (const auto* judge = std::get_if<ledger::Judge>(&body)) {
    const Amount face = judge->receipt.job.face_value;
    if (!pays(entry, face) || taken_by(entry) != 0) {
      return fail(ErrorCode::kInternal, "a verdict did something else than to pay a ticket");
    }
    ++counts_.paid;
    counts_.paid_out += face.low();
    return pay_once(protocol::ticket_id(judge->receipt.body()));
  }
  if (const auto* mature = std::get_if<ledger::Mature>(&body)) {
    ++counts_.matured;
    counts_.paid_out += entry.postings.front().amount.low();
    return pay_once(mature->ticket);
  }
  if (ledger::case_of(entry.transaction)) {
    const std::uint64_t taken = taken_by(entry);
    counts_.slashed += taken;
    if (taken > 0) ++counts_.refused;
  }
  if (std::holds_alternative<ledger::Silence>(body)) {
    ++counts_.silent;
    counts_.slashed += taken_by(entry);
  }
  const auto* missed = std::get_if<ledger::Default>(&body);
  return missed != nullptr ? count_default(entry, missed->receipt) : Result<void>{};
}

Result<void> MoneyInspector::count_default(const ledger::Entry& entry,
                                           const protocol::Receipt& receipt) {
  counts_.slashed += taken_by(entry);
  const auto& postings = entry.postings;
  const bool gateways = !postings.empty() && postings[0].from.owner == entry.transaction.ledger;
  ++(gateways ? counts_.defaults_of_gateway : counts_.defaults_of_providers);
  if (!gateways) return {};
  counts_.paid_out += postings[0].amount.low();  // its worth comes first, out of the escrow
  return pay_once(protocol::ticket_id(receipt.body()));
}

Result<void> expect_agreement(const ledger::State& state, core::Store& gateways_disk,
                              core::Store& providers_disk, const crypto::Address& provider,
                              const core::Clock& clock) {
  ticket::TicketBook gateways(gateways_disk, clock), providers(providers_disk, clock);
  COMMENSAL_TRY(gateways.open());
  COMMENSAL_TRY(providers.open());
  for (const auto& [ticket, claim] : state.claims.rows()) {
    if (claim.provider != provider) continue;
    const ticket::Record* const here = gateways.find(ticket);
    const ticket::Record* const there = providers.find(ticket);
    if (claim.status == ClaimStatus::kOpen) continue;  // on its way: not judged yet
    const bool is_gone = here == nullptr;              // pruned
    // Who holds its claim yet got all of it.
    const bool is_whole = claim.status != ClaimStatus::kPaid || claim.holder != provider ||
                          (here != nullptr && here->paid == claim.face);
    const bool agrees = is_whole && here != nullptr && there != nullptr &&
                        here->state == there->state && here->paid == there->paid &&
                        may_stand(claim.status, here->state);
    // That one which may win yet is void, a provider believes nobody but the ledger.
    const bool is_convicted = std::ranges::any_of(state.cases.rows(), [&](const auto& one) {
      return one.second.ticket == ticket && one.second.status == ledger::CaseStatus::kConvicted;
    });
    const bool is_not_believed =
        there != nullptr && there->state == State::kCountersigned && is_convicted;
    // What a provider did not draw in time it draws when it comes back; nobody tells it the rest.
    const bool is_too_late =
        there != nullptr && there->state == State::kLost && claim.status == ClaimStatus::kDefaulted;
    if (is_gone || agrees || is_not_believed || is_too_late) continue;
    const auto name = [](const ticket::Record* record) {
      return record == nullptr ? std::string_view("absent") : protocol::name_of(record->state);
    };
    return fail(ErrorCode::kInternal,
                "ticket {} is {} for the gateway, {} for the provider, {} in the ledger",
                core::to_hex(ticket), name(here), name(there), protocol::name_of(claim.status));
  }
  return {};
}

}  // namespace commensal::sim::testing
