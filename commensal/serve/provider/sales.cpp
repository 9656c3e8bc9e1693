// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/provider/sales.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>

namespace commensal::provider {
namespace {

constexpr std::int64_t kAgainMs = 5'000;
constexpr int kDoublingsMax = 7;  // ten minutes

}  // namespace

void Sales::told(const core::Digest& ticket, const protocol::Amount& asked) {
  if (share_pm_ > 0) offers_[ticket].asked = asked;
}

std::optional<ledger::Body> Sales::next(const core::Digest& beacon) {
  if (share_pm_ == 0) return std::nullopt;
  const std::int64_t now_ms = clock_.wall_ms();
  for (auto at = offers_.begin(); at != offers_.end();) {
    const ticket::Record* const record = tickets_.find(at->first);
    const bool is_open = record != nullptr && record->state == ticket::State::kOpened;
    at = is_open ? std::next(at) : offers_.erase(at);
  }
  for (auto& [id, offer] : offers_) {
    const ticket::Record& record = *tickets_.find(id);
    const protocol::Amount price = ledger::share_of(record.face_value, share_pm_);
    if (record.beacon != beacon || offer.asked == price || now_ms < offer.again_ms) continue;
    offer.again_ms = now_ms + (kAgainMs << std::min(offer.tries++, kDoublingsMax));
    return ledger::Sell{id, price};
  }
  return std::nullopt;
}

}  // namespace commensal::provider
