// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>

namespace commensal::ledger {

/// The ledger as a pure state machine: no clock, no dice, no disk. Equal transactions at equal
/// times give equal journals. Thread-safety: one thread at a time.
class Ledger {
 public:
  /// `signatures` must outlive the ledger.
  explicit Ledger(const Signatures& signatures) : signatures_(signatures) {}
  Ledger(const Signatures& signatures, State state)
      : signatures_(signatures), state_(std::move(state)) {}

  /// The next line of the journal. After an error the state is what it was. `time_ms` is the
  /// operator's clock.
  /// Errors, by name: "clock" (it went back), "chain id" and "ledger" (made for another one),
  /// "replay" or "nonce", "signature" and "signatures" (malleable, foreign, missing), "overdraft",
  /// and what the rule of the kind asks for.
  core::Result<Entry> apply(const Transaction& transaction, std::int64_t time_ms);

  const State& state() const { return state_; }
  /// ledger::take_writes of its state.
  core::Store::Batch take_writes(RowSum& sum) { return ledger::take_writes(state_, sum); }

 private:
  core::Result<void> check_head(const Transaction& transaction, std::int64_t time_ms) const;
  /// All must be well formed; the first is the sender's.
  core::Result<void> check_signatures(const Transaction& transaction) const;
  core::Result<void> run(Entry& entry);

  const Signatures& signatures_;
  State state_;
};

}  // namespace commensal::ledger
