// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/reserves.hpp>

namespace commensal::gateway {

using ledger::AccountKind;
using protocol::Amount;

namespace {

constexpr std::int64_t kEveryMs = 1'000;
constexpr std::uint64_t kBondsKept = 16;  // that cheats may be caught at once

}  // namespace

Amount Reserves::spare() const {
  const ledger::State& state = bank_.state();
  const auto kept = state.scalars.config.accusation_bond.times(Amount(kBondsKept));
  if (!kept) return {};
  const Amount available = state.balance(bank_.address(), AccountKind::kAvailable);
  return available.minus(*kept).value_or(Amount());
}

void Reserves::fill() {
  const std::int64_t now_ms = clock_.monotonic_ns() / 1'000'000;
  if (now_ms < next_ms_) return;
  for (const auto& [kind, wanted] : wanted_) {
    const Amount there = bank_.state().balance(bank_.address(), kind);
    const Amount moved = std::min(wanted.minus(there).value_or(Amount()), spare());
    if (moved == Amount()) continue;
    next_ms_ = now_ms + kEveryMs;
    events_.report(bank_.durably([&, kind = kind]() -> core::Result<void> {
      COMMENSAL_TRY(bank_.submit(ledger::Fund{kind, moved}));
      return {};
    }));
  }
}

}  // namespace commensal::gateway
