// SPDX-License-Identifier: Apache-2.0
// Room for rollouts: how many are kept, and what their states take on the disk.
#include <algorithm>
#include <commensal/serve/gateway/rollouts.hpp>
#include <commensal/trade/pay/ticket/undecided.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

/// Whether a case about one of its steps is pending: who argues there needs them.
bool is_accused(const ledger::State& state, const core::Digest& job) {
  if (state.accused.rows().empty()) return false;
  return std::ranges::any_of(state.cases.rows(), [&](const auto& one) {
    return is_pending(one.second.status) && protocol::job_id(one.second.dispute.receipt.job) == job;
  });
}

}  // namespace

/// What is over goes with its steps' receipts, unless a ticket, an audit or a case of it is
/// undecided, or a step of it is on its way. Of all, those of who keeps most: nobody's rollouts
/// push out others' while it has more than they.
Result<void> Rollouts::make_room(std::size_t more, std::uint64_t bytes_less,
                                 const std::string& account) {
  std::optional<std::set<core::Digest>> undecided;  // looked for at the bound only
  rollout::Retention retention{.kept_max = deps_.bounds.kept_max, .bytes_less = bytes_less};
  if (account.empty()) retention.owners = &kept_bytes_;
  retention.may_go = [&](const core::Digest& job) {
    const RolloutEntry* const entry = book_.of_job(job);
    if (!account.empty() && (entry == nullptr || entry->account != account)) return false;
    if (!undecided) undecided = ticket::undecided_jobs(deps_.lottery.tickets());
    return of_job(job) == nullptr && !outlived_.contains(job) && audits(job).open.empty() &&
           !undecided->contains(job) && !is_accused(deps_.bank.state(), job);
  };
  retention.forget = [&](const core::Digest& job) -> Result<core::Store::Batch> {
    COMMENSAL_TRY(deps_.book.drop_steps(job));
    const RolloutEntry* const entry = book_.of_job(job);
    return entry == nullptr ? core::Store::Batch()
                            : core::Store::Batch{RolloutBook::removal(entry->id)};
  };
  retention.gone = [&](const core::Digest& job) {
    audits_.erase(job);
    kept_bytes_.forget(job);
    const RolloutEntry* const entry = book_.of_job(job);
    if (entry == nullptr) return;
    const core::Digest rollout = entry->id;
    book_.forget(rollout);
    wake(rollout);
  };
  return rollout::make_room(deps_.store, more, retention);
}

Result<std::int64_t> Rollouts::shrink(const std::string& account, std::int64_t most) {
  const std::uint64_t less = rollout::excess(
      kept_bytes_.of(account), 0, static_cast<std::uint64_t>(std::max<std::int64_t>(most, 0)));
  if (less > 0) {
    const auto made = make_room(0, less, account);
    if (!made && made.error().code != ErrorCode::kResourceExhausted)
      return tl::unexpected(made.error());
  }
  return static_cast<std::int64_t>(kept_bytes_.of(account));
}

Result<void> Rollouts::fit(const std::string& account, std::uint64_t more) {
  COMMENSAL_ASSIGN(const std::int64_t left, deps_.hub.left_by_models(account));
  const auto most = static_cast<std::uint64_t>(left);
  if (rollout::excess(kept_bytes_.of(account), more, most) > 0 || more > most) {
    COMMENSAL_ASSIGN(const auto known, deps_.accounts.find(account));
    const bool is_bounded = !known || known->role != Role::kOperator;
    if (is_bounded && more <= most)
      COMMENSAL_TRY(shrink(account, left - static_cast<std::int64_t>(more)));
    const std::uint64_t kept = kept_bytes_.of(account);
    if (is_bounded && (more > most || kept > most - more)) {
      return core::fail(ErrorCode::kResourceExhausted,
                        "the next state takes {} bytes, and '{}' may keep {} more of its rollouts "
                        "(those that are over count while they are needed)",
                        more, account, most - std::min(kept, most));
    }
  }
  const std::uint64_t less = rollout::excess(kept_bytes_.all(), more, deps_.bounds.bytes_max);
  return less > 0 ? make_room(0, less, "") : Result<void>();
}

/// It is about as large as the last one, or as what it begins with.
Result<void> Rollouts::fit_next_state(const Live& live) {
  COMMENSAL_ASSIGN(const auto bytes, rollout::JobRows(deps_.store, live.entry.job).bytes());
  return fit(live.entry.account, bytes.last > 0 ? bytes.last : bytes.all);
}

void Rollouts::note_bytes(const RolloutEntry& entry) {
  const auto bytes = rollout::JobRows(deps_.store, entry.job).bytes();
  if (bytes) kept_bytes_.note(entry.job, entry.account, bytes->all);
}

}  // namespace commensal::gateway
