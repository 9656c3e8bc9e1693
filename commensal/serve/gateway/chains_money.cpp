// SPDX-License-Identifier: Apache-2.0
// What chains cost and earn: links that have won, and what the ledger says of them.
#include <algorithm>
#include <commensal/serve/gateway/chains.hpp>

namespace commensal::gateway {

using core::Result;

Result<void> Chains::afford(const Live& live) const {
  COMMENSAL_TRY(world_.lottery.cover());
  if (world_.price == protocol::Amount()) return {};
  if (world_.bank.can_pay(live.entry.account, world_.price)) return {};
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "account '{}' can't pay {} for the next link", live.entry.account,
                    to_text(world_.price));
}

std::optional<Chains::Place> Chains::winner_of(const core::Digest& receipt) const {
  for (const ticket::Record& one : world_.lottery.tickets().in(ticket::State::kOpened)) {
    if (protocol::receipt_id(one.body) != receipt) continue;
    if (book_.find(one.body.job_id) == nullptr) return std::nullopt;
    if (!link(one.body.job_id, one.body.step)) return std::nullopt;  // not delivered
    return Place{one.body.job_id, one.body.step};
  }
  return std::nullopt;
}

Result<void> Chains::audit_winner(const core::Digest& receipt, bool at_once) {
  const auto winner = winner_of(receipt);
  core::check(winner.has_value(), "a link that has won");
  const auto& [chain, step] = *winner;
  COMMENSAL_ASSIGN(const auto known, book_.audit(chain, step));
  if (known && known->verdict) {
    COMMENSAL_TRY(judge(chain, step, *known->verdict));
    return {};
  }
  if (!known) COMMENSAL_TRY(book_.put(chain, LinkAudit{step, std::nullopt}));
  if (at_once) {
    auditor_.do_here(chain, step);
  } else if (!known) {
    auditor_.request(chain, step);
  }
  return {};
}

/// A kill may have come between the winner's opening and its audit, or its verdict and the ledger.
void Chains::resume_winners() {
  for (const ticket::Record& one : world_.lottery.tickets().in(ticket::State::kOpened)) {
    const core::Digest receipt = protocol::receipt_id(one.body);
    if (!has_winner(receipt)) continue;
    if (const auto audited = audit_winner(receipt, false); !audited) {
      world_.report(audited.error());
    }
  }
}

Result<std::optional<Judgement>> Chains::judge(const core::Digest& chain, std::uint64_t step,
                                               const protocol::Verdict& verdict) {
  COMMENSAL_ASSIGN(const auto record, this->record(chain));
  COMMENSAL_ASSIGN(const auto delivered, link(chain, step));
  const chain::Signed& body = delivered.body;
  COMMENSAL_ASSIGN(const auto judged, world_.lottery.judge({record.job, step, body.commitment,
                                                            body.round, body.provider, body.client},
                                                           verdict));
  if (judged) world_.on_judged(record.job.provider);
  return judged;
}

}  // namespace commensal::gateway
