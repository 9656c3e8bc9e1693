// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/lottery.hpp>
#include <map>
#include <vector>

namespace commensal::gateway {

/// What providers were told of the money for their winners, and whom it has to be told again: once
/// a second where something has changed, at once where it covers no ticket more while they believe
/// that it does. Thread-safety: the loop's thread.
class Covers {
 public:
  struct Cover {
    protocol::Amount escrow, penalty_escrow;  // announced withdrawals not counted
    std::uint64_t owed = 0;                   // tickets on which nothing is decided, of all
    bool operator==(const Cover&) const = default;
  };

  /// All of them outlive this object.
  Covers(const core::Clock& clock, const Bank& bank, const Lottery& lottery, const Roster& roster)
      : clock_(clock), bank_(bank), lottery_(lottery), roster_(roster) {}

  /// How it stands; this provider is told now.
  Cover tell(const crypto::Address& provider);
  /// Whom it is to be told, of those that are there. `at_once`: also who has just been told.
  std::vector<crypto::Address> stale(bool at_once);
  /// Whether this entry took something out of either escrow.
  bool is_less(const ledger::Entry& entry) const;

 private:
  static constexpr std::int64_t kTellMs = 1'000;
  struct Told {
    Cover cover;
    std::int64_t at_ms = 0;
  };
  Cover now() const;
  bool has_fallen(const Cover& before, const Cover& now) const;

  const core::Clock& clock_;
  const Bank& bank_;
  const Lottery& lottery_;
  const Roster& roster_;
  std::map<crypto::Address, Told> told_;
};

}  // namespace commensal::gateway
