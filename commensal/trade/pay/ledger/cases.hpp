// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/context.hpp>

/// What the rules about accusations share, and others ask them.
namespace commensal::ledger {

struct Case {
  CaseKey key;
  CaseRow row;

  const Address& accused() const { return row.dispute.accused; }
  const Address& provider() const { return row.dispute.receipt.job.provider; }
  /// Not its provider's word: an auditor's.
  bool is_of_report() const { return accused() != provider(); }
  const Address& gateway() const { return row.dispute.receipt.job.client; }
};

/// Error: kNotFound, or kAlreadyExists where it is over.
core::Result<Case> pending_case(const Context& context, const Digest& subject,
                                const Address& accuser);
/// A pending case from now on, its bond locked. Error: overdraft.
core::Result<void> begin_case(Context& context, const Case& begun);
inline void keep(Context& context, const Case& kept) {
  context.state.cases.set(kept.key, kept.row);
}

/// The case that it is about, if any.
std::optional<CaseKey> case_of(const Transaction& transaction);
/// What both have said so far, in this order.
std::vector<Arbiter::Said> moves_of(const State& state, const CaseKey& key);

/// Whether `auditor` could be drawn for a case: the job admits it, it answers for its word and has
/// no part in the case. Not whether it is accused itself: a bond must not choose who is drawn.
/// Error: kPermissionDenied.
core::Result<void> check_candidate(const State& state, const CaseKey& key, const CaseRow& row,
                                   const Address& auditor);
/// The same of one that was drawn, and whose turn it is. Errors: kPermissionDenied, kAlreadyExists.
core::Result<void> check_reporter(const State& state, const CaseKey& key, const CaseRow& row,
                                  const Address& auditor);

/// Error: kFailedPrecondition where a case about the ticket is pending.
core::Result<void> expect_not_accused(const Context& context, const Digest& ticket);
/// Error: kFailedPrecondition where a case against `owner` is pending, or one in which it has
/// reported: its stake has to stay.
core::Result<void> expect_free_stake(const Context& context, const Address& owner);

/// What led to an end, and so who was wrong beside who lost.
enum class Ground : std::uint8_t {
  kWord,       // of the accused, or somebody's silence
  kProof,      // a dispute's
  kBothWrong,  // likewise; the accuser gets nothing
  kReports,    // that agree: who reported something else pays for it
};

/// The answer is wrong: its ticket is refused, its provider punished (once for a ticket, whoever
/// accuses), and every case of the receipt is over; or, of a report, its auditor is punished.
core::Result<void> convict(Context& context, Case ended, Ground ground);
/// The accusation failed: its bond is lost. Of the ticket nothing was said.
core::Result<void> acquit(Context& context, Case ended, Ground ground);

/// That agree; at least one.
std::size_t reports_needed(const Config& config);
/// Of the reports that there are, the most that say the same.
std::size_t most_that_agree(const CaseRow& row);
/// What the case's reports say, where enough of them agree and no others do; else it is kept as it
/// is. Nothing before the accused, and other auditors, have had their time.
core::Result<void> decide_by_reports(Context& context, Case open);
/// No dispute will end it: auditors have to.
core::Result<void> leave_to_auditors(Context& context, Case open);

/// Remembers, with the first accusation of a receipt, what its auditors are drawn by.
core::Result<void> prepare_draw(Context& context, const protocol::Receipt& receipt);
/// For a case that has just been left to auditors: they, and who knows a part of the seed, have
/// their time from now on.
core::Result<void> give_time(Context& context, Case& open);
/// Calls as many of who was drawn as can decide it, where nobody is called.
core::Result<void> call_next(Context& context, Case& open);
/// Who was called and said nothing pays for that, and others are called.
core::Result<void> pass_over(Context& context, Case open);

/// What anybody may send in a case by now, and nobody has to: somebody was silent too long,
/// auditors can be drawn or have said enough.
std::optional<Body> due_step(const State& state, const CaseKey& key, const CaseRow& row,
                             std::uint64_t time_ms);

/// `delay_ms` from now. Error: kInvalidArgument where the clock has no room for it.
core::Result<std::uint64_t> after(const Context& context, std::uint64_t delay_ms);

}  // namespace commensal::ledger
