// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ledger/testing/random_disputes.hpp>
#include <commensal/trade/pay/ledger/testing/random_operations.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::ledger::testing {

/// Transactions about tickets from a seed: gateways and providers with real keys and hash chains,
/// tickets with real receipts, whatever became of them, and accusations of them. A part of them is
/// bent in one byte.
class RandomTickets {
 public:
  explicit RandomTickets(std::uint64_t seed);

  /// What the pairs need before anything else: money, and registered beacons.
  std::vector<Sent> beginning(const Address& operator_address);
  Sent next(const State& state);

 private:
  struct Ticket {
    std::size_t pair = 0;
    ticket::testing::Pair::Step step;
  };

  std::uint64_t below(std::uint64_t bound) { return rng_.next_u64() % bound; }
  Ticket& some_ticket(const State& state);
  Ticket make_ticket(const State& state);
  Body judge(const Ticket& ticket);
  Body settle(const State& state, const Ticket& ticket);
  Sent refill(const State& state, const protocol::Job& job);
  Body reveal(const State& state, std::size_t pair);
  Sent sell(const State& state, const Ticket& ticket);
  Sent buy(const State& state);
  void bend(Body& body);

  core::CounterRng rng_;
  Address operator_;
  RandomDisputes disputes_;
  std::vector<ticket::testing::Pair> pairs_;
  crypto::SecretKey auditor_ = crypto::SecretKey::generate(rng_);
  std::vector<Ticket> tickets_;
};

}  // namespace commensal::ledger::testing
