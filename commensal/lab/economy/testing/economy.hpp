// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/economy/testing/inspector.hpp>
#include <commensal/lab/economy/testing/trip.hpp>
#include <deque>

namespace commensal::economy::testing {

struct Plan {
  std::size_t gateways = 50;
  std::size_t providers = 500;
  std::uint64_t rounds = 120;  // of six hours: a month
};

/// The market, its month and its end. After every round everything is checked: each ledger, each
/// ticket in both books and the ledger, each journal. Equal seeds and plans give equal digests.
/// Transactions carry cheap signatures (ledger::testing::CheapSignatures); receipts, chain heads
/// and verdicts real ones. Thread-safety: one thread.
class Economy {
 public:
  explicit Economy(std::uint64_t seed, const Plan& plan = {});

  /// Errors: what was refused that should not have been, or what does not add up; with the round.
  Result<void> run();
  /// Everything that is on any disk, except journals, whose heads are.
  Result<Digest> digest();
  /// Runs every journal again (ledger::verify). Error: the first that is wrong.
  Result<void> verify();

  const Counts& counts() const { return world_.counts; }

 private:
  struct Office {
    std::size_t gateway;
    std::vector<Link> links;
    Inspector inspector;
  };

  Result<void> found(Office& office);
  Result<void> round(Office& office);
  Result<void> check(Office& office);

  World world_;
  const Plan plan_;
  std::deque<Gateway> gateways_;
  std::deque<Provider> providers_;
  std::vector<Office> offices_;
};

}  // namespace commensal::economy::testing
