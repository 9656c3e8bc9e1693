// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/ledger/testing/people.hpp>

namespace commensal::ledger::testing {

/// Transactions from a seed, about plain money: most fit the state that they are drawn for, the
/// rest break one rule each (overdraft, replay, gap, foreign signature, wrong chain, wrong right).
/// Signed by CheapSignatures. The people, the operator first, are the same for every seed.
class RandomOperations {
 public:
  RandomOperations(std::uint64_t seed, std::size_t people);

  const Address& operator_address() const { return people_[0]; }
  const std::vector<Address>& people() const { return people_; }
  Transaction found(const Config& config);
  Transaction next(const State& state);
  /// Sealed for `sender` at its next nonce.
  Transaction make(const State& state, const Address& sender, Body body) const;

  std::uint64_t below(std::uint64_t bound) { return rng_.next_u64() % bound; }
  const Address& somebody() { return people_[below(people_.size())]; }

 private:
  /// Not more than `balance` most of the time.
  Amount some_of(const Amount& balance);
  Body body(const State& state, const Address& sender);
  void spoil(Transaction& transaction);

  core::CounterRng rng_;
  std::vector<Address> people_;
  Transaction earlier_;
};

}  // namespace commensal::ledger::testing
