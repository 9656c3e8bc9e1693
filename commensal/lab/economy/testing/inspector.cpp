// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/economy/testing/inspector.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>

namespace commensal::economy::testing {

using core::ErrorCode;
using core::fail;
using ledger::AccountKind;

namespace {

/// Whether the face value of a claim went to somebody, rather than back.
bool pays(const ledger::Entry& entry) {
  const ledger::AccountId reserved{entry.transaction.ledger, AccountKind::kClaims};
  for (const ledger::Posting& posting : entry.postings) {
    if (posting.from == reserved && posting.to.kind == AccountKind::kAvailable &&
        posting.amount >= Amount(2)) {  // the auditor's fee is 1
      return true;
    }
  }
  return false;
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

}  // namespace

Result<void> Inspector::inspect(const ledger::State& state) {
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

Result<void> Inspector::read(const ledger::Entry& entry) {
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

Result<void> Inspector::pay_once(const Digest& ticket) {
  if (paid_.insert(ticket).second) return {};
  return fail(ErrorCode::kInternal, "ticket {} is paid twice", core::to_hex(ticket));
}

Result<void> Inspector::count_claim(const ledger::Entry& entry) {
  const ledger::Body& body = entry.transaction.body;
  if (std::holds_alternative<ledger::Open>(body)) ++counts_.winners;
  if (const auto* judge = std::get_if<ledger::Judge>(&body)) {
    counts_.slashed += taken_by(entry);
    ++(pays(entry) ? counts_.paid : counts_.refused);
    if (!pays(entry)) return {};
    counts_.paid_out += judge->receipt.job.face_value.low();
    return pay_once(protocol::ticket_id(judge->receipt.body()));
  }
  if (const auto* mature = std::get_if<ledger::Mature>(&body)) {
    ++counts_.matured;
    counts_.paid_out += entry.postings.front().amount.low();
    return pay_once(mature->ticket);
  }
  if (std::holds_alternative<ledger::Silence>(body)) {
    ++counts_.silent;
    counts_.slashed += taken_by(entry);
  }
  const auto* missed = std::get_if<ledger::Default>(&body);
  return missed != nullptr ? count_default(entry, missed->receipt) : Result<void>{};
}

Result<void> Inspector::count_default(const ledger::Entry& entry,
                                      const protocol::Receipt& receipt) {
  counts_.slashed += taken_by(entry);
  const auto& postings = entry.postings;
  const bool gateways = !postings.empty() && postings[0].from.owner == entry.transaction.ledger;
  ++(gateways ? counts_.defaults_of_gateways : counts_.defaults_of_providers);
  if (!gateways) return {};
  counts_.paid_out += postings[0].amount.low();  // its worth comes first, out of the escrow
  return pay_once(protocol::ticket_id(receipt.body()));
}

}  // namespace commensal::economy::testing
