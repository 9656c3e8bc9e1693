// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/ledger/state.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::ledger::testing {

struct Sent {
  Address sender;
  Body body;
};

/// Accusations from a seed, and whatever becomes of them before a ScriptedArbiter. Who accuses and
/// who reports has money from the operator.
class RandomDisputes {
 public:
  explicit RandomDisputes(std::uint64_t seed);

  void beginning(const Address& operator_address, std::vector<Sent>& sent);
  /// Of most jobs.
  static Digest commitment();
  /// About one that is pending, or an accusation of `step`.
  Sent next(const State& state, const ticket::testing::Pair::Step& step);

 private:
  std::uint64_t below(std::uint64_t bound) { return rng_.next_u64() % bound; }
  Sent accuse(const State& state, const ticket::testing::Pair::Step& step);
  Sent about(const State& state, const CaseKey& key, const CaseRow& row);
  Sent report(const State& state, const CaseKey& key, const CaseRow& row);
  Sent staff(const State& state, const Address& auditor);
  core::Bytes move();

  core::CounterRng rng_;
  Address operator_;
  std::vector<Address> accusers_, auditors_;
};

}  // namespace commensal::ledger::testing
