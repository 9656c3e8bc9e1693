// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <set>

namespace commensal::ledger {
namespace {

using core::ErrorCode;
using core::Result;
using protocol::to_text;

/// A sum of increases and decreases, modulo 2^128: equal sums of amounts that fit are equal.
class Sum {
 public:
  void add(const Amount& amount) { units_ += units_of(amount); }
  void take(const Amount& amount) { units_ -= units_of(amount); }
  bool operator==(const Sum&) const = default;

 private:
  __extension__ using Units = unsigned __int128;
  static Units units_of(const Amount& amount) {
    return static_cast<Units>(amount.high()) << 64 | amount.low();
  }
  Units units_ = 0;
};

tl::unexpected<core::Error> breach(std::string what) {
  return core::fail(ErrorCode::kInternal, "invariant: {}", what);
}

/// The value that each key of a table had before its first change.
template <class Key, class Value>
std::map<Key, std::optional<Value>> before(const Table<Key, Value>& table) {
  std::map<Key, std::optional<Value>> first;
  for (const auto& change : table.changes()) first.try_emplace(change.key, change.before);
  return first;
}

using Sums = std::map<AccountId, Sum>;

/// By account: what postings say it grew by. That of kOutside is what came in.
Sums growth_by_postings(std::span<const Posting> postings) {
  Sums growth;
  for (const Posting& posting : postings) {
    posting.from == kOutside ? growth[kOutside].add(posting.amount)
                             : growth[posting.from].take(posting.amount);
    posting.to == kOutside ? growth[kOutside].take(posting.amount)
                           : growth[posting.to].add(posting.amount);
  }
  return growth;
}

AccountId withdrawing(const Address& owner) { return {owner, AccountKind::kWithdrawing}; }

/// Accounts that must be the sum of what other tables say.
bool has_parts(const AccountId& account) {
  return account.kind == AccountKind::kWithdrawing || account.kind == AccountKind::kClaims ||
         account.kind == AccountKind::kBond;
}

/// What a claim holds reserved.
void reserve(Sums& parts, const ClaimRow& claim, void (Sum::*change)(const Amount&)) {
  if (claim.status != ClaimStatus::kOpen) return;
  Sum& sum = parts[{claim.gateway, AccountKind::kClaims}];
  (sum.*change)(claim.face);
  (sum.*change)(claim.fee);
}

/// What an accuser has locked.
void bond(Sums& parts, const CaseKey& key, const CaseRow& row, void (Sum::*change)(const Amount&)) {
  if (!is_pending(row.status)) return;
  (parts[{key.accuser, AccountKind::kBond}].*change)(row.bond);
}

Result<void> check_parts(const Sums& parts) {
  for (const auto& [account, sum] : parts) {
    if (sum != Sum{}) {
      return breach(fmt::format("{} is not the sum of its parts", ledger::to_text(account)));
    }
  }
  return {};
}

Result<void> add_changed_bonds(const State& state, Sums& parts) {
  for (const auto& [key, old] : before(state.cases)) {
    const CaseRow* now = state.cases.find(key);
    if (now == nullptr) return breach("a case was forgotten");
    if (old && !is_pending(old->status)) return breach("a case was over and changed");
    bond(parts, key, *now, &Sum::add);
    if (old) bond(parts, key, *old, &Sum::take);
  }
  return {};
}

/// Pending cases are counted, by provider and by ticket, and no others have moves.
Result<void> check_cases(const State& state) {
  std::map<Address, std::uint32_t> accused;
  std::map<Digest, std::uint32_t> tickets;
  std::size_t moves = 0;
  for (const auto& [key, row] : state.cases.rows()) {
    moves += row.moves;
    if (!is_pending(row.status)) continue;
    ++accused[row.dispute.accused];
    if (row.dispute.accused == row.dispute.receipt.job.provider) ++tickets[row.ticket];
  }
  if (accused != state.accused.rows() || tickets != state.accused_tickets.rows()) {
    return breach("the accused are not those of the pending cases");
  }
  if (moves != state.moves.rows().size()) return breach("moves are not those of the cases");
  return {};
}

/// Who is on the list has what counts of its stake; and whoever is called was drawn, by a seed that
/// stays.
Result<void> check_auditor(const State& state, const Address& auditor) {
  const BenchRow* const row = state.bench.find(auditor);
  if (row == nullptr) return {};
  const Amount stake = state.balance(auditor, AccountKind::kStake);
  if (row->stake <= stake && row->stake >= state.scalars.config.auditor_stake) return {};
  return breach(
      fmt::format("{} counts as an auditor for more than it has locked", crypto::to_text(auditor)));
}

Result<void> check_called(const State& state, const CaseRow& row) {
  const bool has_drawn = !row.called.empty() || !row.drawn.empty();
  if (has_drawn && !is_pending(row.status)) return breach("a case was over and calls auditors");
  const DrawRow* const draw = state.draws.find(protocol::receipt_id(row.dispute.receipt.body()));
  if (draw == nullptr) return breach("a case without a draw");
  if (row.report_ms != 0 && !draw->seed) return breach("auditors were drawn by no seed");
  std::set<Address> once(row.drawn.begin(), row.drawn.end());
  once.insert(row.called.begin(), row.called.end());
  for (const Finding& finding : row.findings) once.insert(finding.auditor);
  if (once.size() == row.drawn.size() + row.called.size() + row.findings.size()) return {};
  return breach("an auditor was drawn twice");
}

Result<void> check_changed_auditors(const State& state) {
  for (const auto& [account, old] : before(state.balances)) {
    if (account.kind == AccountKind::kStake) COMMENSAL_TRY(check_auditor(state, account.owner));
  }
  for (const auto& [auditor, old] : before(state.bench))
    COMMENSAL_TRY(check_auditor(state, auditor));
  for (const auto& [key, old] : before(state.cases)) {
    COMMENSAL_TRY(check_called(state, state.cases.get(key)));
  }
  for (const auto& [receipt, old] : before(state.draws)) {
    if (old && old->seed && state.draws.get(receipt).seed != old->seed) {
      return breach("a draw was made again");
    }
  }
  return {};
}

/// What is for sale can be bought.
Result<void> check_sale(const State& state, const Digest& ticket) {
  const Amount* const asked = state.asked.find(ticket);
  if (asked == nullptr) return {};
  const ClaimRow* const claim = state.claims.find(ticket);
  const bool is_open = claim != nullptr && claim->status == ClaimStatus::kOpen;
  if (is_open && *asked != Amount() && *asked <= claim->face) return {};
  return breach(fmt::format("ticket {} is for sale and cannot be", core::to_hex(ticket)));
}

Result<void> check_changed_sales(const State& state) {
  for (const auto& [ticket, old] : before(state.asked)) COMMENSAL_TRY(check_sale(state, ticket));
  for (const auto& [ticket, old] : before(state.claims)) COMMENSAL_TRY(check_sale(state, ticket));
  return {};
}

Result<void> add_changed_parts(const State& state, Sums& parts) {
  for (const auto& [key, old] : before(state.announcements)) {
    Sum& sum = parts[withdrawing(key.owner)];
    const Announcement* now = state.announcements.find(key);
    if (now != nullptr) sum.add(now->amount);
    if (old) sum.take(old->amount);
  }
  for (const auto& [ticket, old] : before(state.claims)) {
    const ClaimRow* now = state.claims.find(ticket);
    const bool was_final = old && old->status != ClaimStatus::kOpen;
    if (was_final && now == nullptr) continue;  // forgotten
    const bool is_convicted = old && old->status != ClaimStatus::kRefused && now != nullptr &&
                              now->status == ClaimStatus::kRefused;
    if (was_final && !is_convicted) {
      return breach(fmt::format("ticket {} was final and changed", core::to_hex(ticket)));
    }
    if (now == nullptr) return breach("a ticket that was open was forgotten");
    reserve(parts, *now, &Sum::add);
    if (old) reserve(parts, *old, &Sum::take);
  }
  return {};
}

}  // namespace

Result<void> check_changes(const State& state, std::span<const Posting> postings) {
  Sums growth = growth_by_postings(postings);
  Sums parts;  // what announcements and claims say that their accounts grew by
  Sum inside, outside;
  for (const auto& [account, old] : before(state.balances)) {
    Sum grown;
    grown.add(state.balances.get(account));
    grown.take(old.value_or(Amount{}));
    if (grown != growth[account]) {
      return breach(fmt::format("postings do not explain {}", ledger::to_text(account)));
    }
    growth.erase(account);
    Sum& side = account == kOutside ? outside : inside;
    side.add(state.balances.get(account));
    side.take(old.value_or(Amount{}));
    if (has_parts(account)) {
      parts[account].add(old.value_or(Amount{}));
      parts[account].take(state.balances.get(account));
    }
  }
  if (inside != outside) return breach("a transaction made or lost money");
  for (const auto& [account, sum] : growth) {
    if (sum != Sum{})
      return breach(fmt::format("{} was posted to and did not change", ledger::to_text(account)));
  }
  COMMENSAL_TRY(add_changed_parts(state, parts));
  COMMENSAL_TRY(add_changed_bonds(state, parts));
  COMMENSAL_TRY(check_changed_sales(state));
  COMMENSAL_TRY(check_changed_auditors(state));
  return check_parts(parts);
}

Result<void> check_all(const State& state) {
  Amount inside, credit;
  Sums parts;
  for (const auto& [account, amount] : state.balances.rows()) {
    if (amount == Amount{}) return breach("a row of zero");
    if (account != kOutside) {
      const auto sum = inside.plus(amount);
      if (!sum) return breach("the accounts add up to more than 2^128 - 1");
      inside = *sum;
    }
    if (has_parts(account)) parts[account].take(amount);
    if (account.kind == AccountKind::kCredit) credit = *credit.plus(amount);
  }
  const Amount came = state.balances.get(kOutside);
  if (inside != came) {
    return breach(
        fmt::format("the accounts add up to {}, but {} came in", to_text(inside), to_text(came)));
  }
  if (credit != state.scalars.credit) return breach("granted credit is not the sum of its parts");
  for (const auto& [key, announced] : state.announcements.rows()) {
    parts[withdrawing(key.owner)].add(announced.amount);
  }
  for (const auto& [ticket, claim] : state.claims.rows()) reserve(parts, claim, &Sum::add);
  for (const auto& [key, row] : state.cases.rows()) bond(parts, key, row, &Sum::add);
  COMMENSAL_TRY(check_cases(state));
  for (const auto& [key, row] : state.cases.rows()) COMMENSAL_TRY(check_called(state, row));
  for (const auto& [auditor, row] : state.bench.rows()) {
    COMMENSAL_TRY(check_auditor(state, auditor));
  }
  for (const auto& [ticket, asked] : state.asked.rows()) COMMENSAL_TRY(check_sale(state, ticket));
  return check_parts(parts);
}

}  // namespace commensal::ledger
