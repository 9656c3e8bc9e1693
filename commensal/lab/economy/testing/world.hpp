// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/trade/pay/ledger/testing/people.hpp>
#include <set>

/// A market's trade without its machines: many gateways and providers, their books, chains and
/// ledgers, in one thread and from one seed.
namespace commensal::economy::testing {

using core::Digest;
using core::Result;
using crypto::Address;
using protocol::Amount;

/// How somebody behaves, all month.
enum class Manner : std::uint8_t {
  kHonest,
  kCrashing,     // is killed at writes of its store, and starts again
  kWithholding,  // does not show some reveals
  kUnopening,    // a provider that keeps silent about half of its winners
  kCheating,     // a provider some of whose answers are wrong
  kAway,         // a provider that is not there for hours
};

struct Counts {
  std::uint64_t rounds = 0;
  std::uint64_t tickets = 0;  // countersigned
  std::uint64_t voided = 0;   // committed to, never countersigned
  std::uint64_t winners = 0;  // opened
  std::uint64_t paid = 0;     // by a verdict
  std::uint64_t matured = 0;  // without one
  std::uint64_t refused = 0;  // by a verdict
  std::uint64_t silent = 0;   // won, not opened
  std::uint64_t defaults_of_gateways = 0;
  std::uint64_t defaults_of_providers = 0;
  std::uint64_t crashes = 0;
  std::uint64_t came_in = 0, went_out = 0, paid_out = 0, slashed = 0, burnt = 0;  // units

  bool operator==(const Counts&) const = default;
};

/// What everybody shares. Thread-safety: one thread.
struct World {
  explicit World(std::uint64_t seed) : rng(seed) {}

  std::uint64_t below(std::uint64_t bound) { return rng.next_u64() % bound; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }

  core::ManualClock clock;
  core::CounterRng rng;
  ledger::testing::CheapSignatures signatures;
  Counts counts;
  std::uint64_t round = 0;   // of all chains
  std::set<Digest> wrong{};  // tickets whose answer is
};

}  // namespace commensal::economy::testing
