// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/covers.hpp>

namespace commensal::gateway {

using ledger::AccountKind;
using protocol::Amount;

Covers::Cover Covers::now() const {
  const ledger::State& state = bank_.state();
  return {state.balance(bank_.address(), AccountKind::kEscrow),
          state.balance(bank_.address(), AccountKind::kPenaltyEscrow),
          lottery_.tickets().awaited()};
}

Covers::Cover Covers::tell(const crypto::Address& provider) {
  const Cover cover = now();
  told_.insert_or_assign(provider, Told{cover, clock_.monotonic_ns() / 1'000'000});
  return cover;
}

/// As who was told counts: one ticket more is what it may be asked for.
bool Covers::has_fallen(const Cover& before, const Cover& now) const {
  const auto does = [this](const Amount& there, const Cover& cover, std::uint64_t times) {
    const auto needed = lottery_.may_win(cover.owed + 1);
    const auto all = needed ? needed->times(Amount(times)) : needed;
    return all.has_value() && there >= *all;
  };
  return (does(before.escrow, before, 1) && !does(now.escrow, now, 1)) ||
         (does(before.penalty_escrow, before, 2) && !does(now.penalty_escrow, now, 2));
}

std::vector<crypto::Address> Covers::stale(bool at_once) {
  std::vector<crypto::Address> whom;
  if (!lottery_.is_on()) return whom;
  const Cover cover = now();
  const std::int64_t now_ms = clock_.monotonic_ns() / 1'000'000;
  std::erase_if(told_, [this](const auto& one) {
    const auto peer = roster_.peers().find(one.first);
    return peer == roster_.peers().end() || peer->second.stream == nullptr;
  });
  for (const auto& [provider, told] : told_) {
    if (told.cover == cover) continue;
    const bool is_due = at_once || now_ms - told.at_ms >= kTellMs;
    if (is_due || has_fallen(told.cover, cover)) whom.push_back(provider);
  }
  return whom;
}

bool Covers::is_less(const ledger::Entry& entry) const {
  return std::ranges::any_of(entry.postings, [this](const ledger::Posting& posting) {
    const AccountKind kind = posting.from.kind;
    return posting.from.owner == bank_.address() &&
           (kind == AccountKind::kEscrow || kind == AccountKind::kPenaltyEscrow);
  });
}

}  // namespace commensal::gateway
