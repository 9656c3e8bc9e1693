// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/state.hpp>
#include <span>

/// Who of those with a stake audits, by a seed. docs/verification.md says what the seed is worth.
namespace commensal::ledger {

/// How many lots a stake is: one for each `auditor_stake`, at most limits::kAuditorLotsMax.
std::uint64_t lots_of(const Amount& stake, const Config& config);

struct Candidate {
  Address auditor;
  std::uint64_t lots = 1;
};
/// All of them, whoever has the smallest H("commensal/auditors/lot/v1", seed | auditor | lot as
/// u64) first: by stake, without repetition, and whoever is missing moves nobody past another.
std::vector<Address> draw_order(const Digest& seed, std::span<const Candidate> candidates);

/// H("commensal/auditors/v1", receipt | round as u64 | gateway's v | provider's v | nonce): zero
/// for what there is not.
struct DrawParts {
  Digest receipt{};  // protocol::receipt_id
  std::uint64_t round = 0;
  Digest gateway{};
  Digest provider{};
  Digest nonce{};
};
Digest draw_seed(const DrawParts& parts);

}  // namespace commensal::ledger
