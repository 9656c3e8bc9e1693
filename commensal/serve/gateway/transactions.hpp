// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <functional>
#include <vector>

namespace commensal::gateway {

/// What others have this gateway's ledger book: so many a second for each sender, and what comes
/// together shares one write. Thread-safety: the loop's thread.
class Transactions {
 public:
  using Done = std::function<void(core::Result<crypto::Address>)>;

  /// All of them outlive this object.
  Transactions(core::Loop& loop, const core::Clock& clock, Bank& bank)
      : loop_(loop), clock_(clock), bank_(bank) {}

  /// Whether its sender has something here, and may send it now. Precondition: the sender has
  /// signed it, or is known otherwise. Errors: kPermissionDenied, kResourceExhausted.
  core::Result<void> admit(const ledger::Transaction& transaction);
  /// The same of what a sender says on its own stream, where each word counts, said before or not.
  core::Result<void> admit_own(const ledger::Transaction& transaction);
  /// `done` is called once, on the loop, when it is durable, with the sender. Errors: those of
  /// admit(); kResourceExhausted (too many wait); ledger::Ledger::apply's.
  void submit(ledger::Transaction transaction, Done done);

 private:
  struct Waiting {
    ledger::Transaction transaction;
    Done done;
  };
  core::Result<void> rate(const ledger::Transaction& transaction);
  void book_all();

  core::Loop& loop_;
  const core::Clock& clock_;
  Bank& bank_;
  core::Rates<crypto::Address> rates_{limits::kTransactionsPerS, limits::kTransactionsBurstS};
  core::Rates<crypto::Address> moves_{limits::kMovesPerS, limits::kTransactionsBurstS};
  std::vector<Waiting> waiting_;
};

}  // namespace commensal::gateway
