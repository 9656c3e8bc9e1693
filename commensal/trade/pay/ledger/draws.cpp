// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/draws.hpp>

namespace commensal::ledger {
namespace {

Digest lot_of(const Digest& seed, const Address& auditor, std::uint64_t lot) {
  protocol::Writer writer;
  writer.u64(lot);
  return crypto::tagged_hash("commensal/auditors/lot/v1", seed, auditor.bytes, writer.written());
}

}  // namespace

std::uint64_t lots_of(const Amount& stake, const Config& config) {
  const Amount each = std::max(config.auditor_stake, Amount(1));
  std::uint64_t lots = 0;
  for (Amount left = stake; left >= each && lots < limits::kAuditorLotsMax; ++lots) {
    left = *left.minus(each);
  }
  return lots;
}

std::vector<Address> draw_order(const Digest& seed, std::span<const Candidate> candidates) {
  std::vector<std::pair<Digest, Address>> drawn;
  for (const Candidate& one : candidates) {
    Digest best = lot_of(seed, one.auditor, 0);
    for (std::uint64_t lot = 1; lot < one.lots; ++lot) {
      best = std::min(best, lot_of(seed, one.auditor, lot));
    }
    drawn.emplace_back(best, one.auditor);
  }
  std::ranges::sort(drawn);
  std::vector<Address> order;
  order.reserve(drawn.size());
  for (const auto& [lot, auditor] : drawn) order.push_back(auditor);
  return order;
}

Digest draw_seed(const DrawParts& parts) {
  protocol::Writer round;
  round.u64(parts.round);
  return crypto::tagged_hash("commensal/auditors/v1", parts.receipt, round.written(), parts.gateway,
                             parts.provider, parts.nonce);
}

}  // namespace commensal::ledger
