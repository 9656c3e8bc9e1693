// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/trade/pay/ledger/cases.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>

namespace commensal::ledger {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

AccountId available(const Address& owner) { return {owner, AccountKind::kAvailable}; }
AccountId bond_of(const Case& one) { return {one.key.accuser, AccountKind::kBond}; }

template <class Key>
void count(Table<Key, std::uint32_t>& table, const Key& key, int change) {
  const std::uint32_t now = table.get(key) + static_cast<std::uint32_t>(change);
  now == 0 ? table.erase(key) : table.set(key, now);
}

void count_pending(Context& context, const Case& one, int change) {
  count(context.state.accused, one.accused(), change);
  if (!one.is_of_report()) count(context.state.accused_tickets, one.row.ticket, change);
}

void drop_moves(Context& context, Case& one) {
  for (std::uint32_t i = 0; i < one.row.moves; ++i) context.state.moves.erase({one.key, i});
  one.row.moves = 0;
}

/// Over; where its bond goes is for the caller.
void end(Context& context, Case& ended, CaseStatus status) {
  count_pending(context, ended, -1);
  drop_moves(context, ended);
  ended.row.drawn.clear();
  ended.row.called.clear();
  ended.row.status = status;
  keep(context, ended);
}

/// Nothing of it can be claimed any more; what is reserved for it goes back.
Result<void> refuse_ticket(Context& context, const Case& ended) {
  const ClaimRow* known = context.state.claims.find(ended.row.ticket);
  const bool is_open = known != nullptr && known->status == ClaimStatus::kOpen;
  const ClaimRow claim =
      is_open ? *known
              : closed_row(ended.row.dispute.receipt, ended.key.subject, ClaimStatus::kRefused);
  if (is_open) {
    const AccountId escrow{claim.gateway, AccountKind::kEscrow};
    COMMENSAL_TRY(pay_out(context, claim, escrow, escrow));
  }
  end_claim(context, ended.row.ticket, claim, ClaimStatus::kRefused);
  return {};
}

/// Whose report was `root`, or anything else, answers for it. Only where others' reports decided:
/// two of one mind can lose a dispute, or win it, whatever the answer was.
Result<void> punish_reports(Context& context, const Case& ended, bool was_right,
                            const Address& harmed) {
  for (const Finding& finding : ended.row.findings) {
    if ((finding.root == ended.row.dispute.output_root) == was_right) continue;
    COMMENSAL_TRY(punish(context, Offence::kFalseReport, finding.auditor, harmed));
  }
  return {};
}

/// Half of it is burnt, the odd unit too: else accusing oneself would cost nothing.
Result<void> forfeit(Context& context, const Case& lost, const AccountId& half_to) {
  const Amount half = share_of(lost.row.bond, 500);
  COMMENSAL_TRY(context.move(bond_of(lost), half_to, half));
  return context.move(bond_of(lost), kBurnt, *lost.row.bond.minus(half));
}

}  // namespace

Digest subject_of(const Accuse& body) {
  return body.report ? protocol::report_id(*body.report)
                     : protocol::receipt_id(body.receipt.body());
}

std::span<const std::string_view> enum_names(CaseStatus) {
  static constexpr std::string_view kNames[] = {"accused", "contested", "undecided", "convicted",
                                                "acquitted"};
  return kNames;
}

Result<Case> pending_case(const Context& context, const Digest& subject, const Address& accuser) {
  const CaseKey key{subject, accuser};
  const CaseRow* row = context.state.cases.find(key);
  if (row == nullptr) {
    return fail(ErrorCode::kNotFound, "case: {} has not accused {}", crypto::to_text(accuser),
                core::to_hex(subject));
  }
  if (is_pending(row->status)) return Case{key, *row};
  return fail(ErrorCode::kAlreadyExists, "case: it is over: {}", protocol::name_of(row->status));
}

Result<void> begin_case(Context& context, const Case& begun) {
  COMMENSAL_TRY(context.move(available(begun.key.accuser), bond_of(begun), begun.row.bond));
  count_pending(context, begun, +1);
  keep(context, begun);
  return {};
}

Result<void> expect_not_accused(const Context& context, const Digest& ticket) {
  const std::uint32_t count = context.state.accused_tickets.get(ticket);
  if (count == 0) return {};
  return fail(ErrorCode::kFailedPrecondition, "ticket: {} is accused in {} cases",
              core::to_hex(ticket), count);
}

Result<void> expect_free_stake(const Context& context, const Address& owner) {
  const std::uint32_t count = context.state.accused.get(owner);
  if (count > 0) {
    return fail(ErrorCode::kFailedPrecondition, "stake: its owner is accused in {} cases", count);
  }
  for (const auto& [key, row] : context.state.cases.rows()) {
    const bool answers =
        std::ranges::find(row.findings, owner, &Finding::auditor) != row.findings.end() ||
        std::ranges::find(row.called, owner) != row.called.end();
    if (!answers || !is_pending(row.status)) continue;
    return fail(ErrorCode::kFailedPrecondition, "stake: its owner answers for a report");
  }
  return {};
}

std::optional<CaseKey> case_of(const Transaction& transaction) {
  return std::visit(
      [&]<class Kind>(const Kind& body) -> std::optional<CaseKey> {
        if constexpr (std::is_same_v<Kind, Accuse>) {
          return CaseKey{subject_of(body), transaction.sender};
        } else if constexpr (requires { body.subject, body.accuser; }) {
          return CaseKey{body.subject, body.accuser};
        } else {
          return std::nullopt;
        }
      },
      transaction.body);
}

std::vector<Arbiter::Said> moves_of(const State& state, const CaseKey& key) {
  std::vector<Arbiter::Said> said;
  const auto& rows = state.moves.rows();
  for (auto row = rows.lower_bound({key, 0}); row != rows.end() && row->first.at == key; ++row) {
    said.push_back({row->second.by_accuser != 0, row->second.move});
  }
  return said;
}

namespace {

/// All pending cases of a subject that was found wrong: over, bonds back.
Result<void> end_cases(Context& context, const Digest& subject) {
  std::vector<Case> pending;
  const auto& rows = context.state.cases.rows();
  for (auto row = rows.lower_bound({subject, {}}); row != rows.end(); ++row) {
    if (row->first.subject != subject) break;
    if (is_pending(row->second.status)) pending.push_back({row->first, row->second});
  }
  for (Case& one : pending) {
    end(context, one, CaseStatus::kConvicted);
    COMMENSAL_TRY(context.move(bond_of(one), available(one.key.accuser), one.row.bond));
  }
  return {};
}

/// Once for a ticket, whoever accuses; of a report its first conviction is its last.
Result<void> punish_accused(Context& context, const Case& ended, const Address* finder) {
  if (ended.is_of_report()) {
    COMMENSAL_TRY(punish(context, Offence::kFalseReport, ended.accused(), ended.key.accuser));
    return {};
  }
  const ClaimRow* known = context.state.claims.find(ended.row.ticket);
  if (known != nullptr && known->status == ClaimStatus::kRefused) return {};
  COMMENSAL_TRY(refuse_ticket(context, ended));
  return punish_mismatch(context, ended.provider(), ended.gateway(), finder);
}

}  // namespace

Result<void> convict(Context& context, Case ended, Ground ground) {
  COMMENSAL_TRY(
      punish_accused(context, ended, ground == Ground::kBothWrong ? nullptr : &ended.key.accuser));
  if (ground == Ground::kBothWrong) {
    end(context, ended, CaseStatus::kConvicted);
    COMMENSAL_TRY(context.move(bond_of(ended), kBurnt, ended.row.bond));
  }
  COMMENSAL_TRY(end_cases(context, ended.key.subject));
  if (ground != Ground::kReports) return {};
  return punish_reports(context, ended, false, ended.key.accuser);
}

Result<void> acquit(Context& context, Case ended, Ground ground) {
  end(context, ended, CaseStatus::kAcquitted);
  COMMENSAL_TRY(forfeit(context, ended, available(ended.accused())));
  if (ground != Ground::kReports) return {};
  return punish_reports(context, ended, true, ended.accused());
}

std::size_t reports_needed(const Config& config) {
  return std::clamp<std::size_t>(config.reports_needed, 1, (limits::kCaseReportsMax - 1) / 2);
}

std::size_t most_that_agree(const CaseRow& row) {
  std::map<Digest, std::size_t> counts;
  std::size_t most = 0;
  for (const Finding& finding : row.findings) most = std::max(most, ++counts[finding.root]);
  return most;
}

Result<void> decide_by_reports(Context& context, Case open) {
  const std::size_t needed = reports_needed(context.config());
  std::map<Digest, std::size_t> counts;
  for (const Finding& finding : open.row.findings) ++counts[finding.root];
  const Digest said = open.row.dispute.output_root;
  const bool is_right = counts[said] >= needed;
  const bool is_wrong = std::ranges::any_of(
      counts, [&](const auto& count) { return count.first != said && count.second >= needed; });
  keep(context, open);
  // Auditors who part are no proof of anything; and nothing is decided before the accused, and
  // others, have had their time.
  if (context.time_ms() < open.row.contest_ms || is_right == is_wrong) return {};
  return is_right ? acquit(context, std::move(open), Ground::kReports)
                  : convict(context, std::move(open), Ground::kReports);
}

Result<void> leave_to_auditors(Context& context, Case open) {
  drop_moves(context, open);
  open.row.status = CaseStatus::kUndecided;
  COMMENSAL_TRY(give_time(context, open));
  return decide_by_reports(context, std::move(open));
}

Result<std::uint64_t> after(const Context& context, std::uint64_t delay_ms) {
  std::uint64_t then_ms = 0;
  if (!__builtin_add_overflow(context.time_ms(), delay_ms, &then_ms)) return then_ms;
  return fail(ErrorCode::kInvalidArgument, "clock: {} ms leaves no room for the delay",
              context.time_ms());
}

}  // namespace commensal::ledger
