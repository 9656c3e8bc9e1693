// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

namespace commensal::ledger {

/// The ledger as a pure state machine: no clock, no dice, no disk. Equal transactions at equal
/// times give equal journals. Thread-safety: one thread at a time.
class Ledger {
 public:
  /// `signatures` and `arbiter` must outlive the ledger; without an arbiter nobody is accused.
  explicit Ledger(const Signatures& signatures, const Arbiter* arbiter = nullptr)
      : signatures_(signatures), arbiter_(arbiter) {}
  Ledger(const Signatures& signatures, StoredState stored, const Arbiter* arbiter = nullptr)
      : signatures_(signatures),
        arbiter_(arbiter),
        state_(std::move(stored.state)),
        sum_(stored.sum) {}

  /// The next line of the journal. After an error the state is what it was. `time_ms` is the
  /// operator's clock.
  /// Errors, by name: "clock" (it went back), "chain id" and "ledger" (made for another one),
  /// "replay" or "nonce", "signature" and "signatures" (malleable, foreign, missing), "overdraft",
  /// and what the rule of the kind asks for.
  core::Result<Entry> apply(const Transaction& transaction, std::int64_t time_ms);

  const State& state() const { return state_; }
  /// What a Checkpoint would state now. O(what changed since take_changes()).
  Root root() const;
  /// ledger::take_changes of its state.
  std::vector<RowChange> take_changes();

 private:
  core::Result<void> check_head(const Transaction& transaction, std::int64_t time_ms) const;
  /// All must be well formed; the first is the sender's.
  core::Result<void> check_signatures(const Transaction& transaction) const;
  core::Result<void> check_root(const Checkpoint& body) const;
  core::Result<void> run(Entry& entry);

  const Signatures& signatures_;
  const Arbiter* arbiter_;
  State state_;
  RowSum sum_;  // of the rows as at the last take_changes()
};

}  // namespace commensal::ledger
