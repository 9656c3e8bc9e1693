// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/store.hpp>
#include <commensal/serve/client/client.hpp>
#include <commensal/trade/pay/ticket/state.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

/// What a gateway has of answers that were acknowledged, however often it, or who computed them,
/// was killed: every receipt, charge and ticket exactly once.
namespace commensal::e2e {

inline constexpr std::int64_t kPrice = 12'000, kCredit = 120'000'000;  // of test money
inline constexpr std::size_t kAnswersOfOne = 900;  // then another account: a list has 1,000

/// Ids of receipts in hex, by account.
using Acknowledged = std::map<std::string, std::vector<std::string>>;
struct Kept {
  std::map<std::string, std::set<std::string>> receipts;  // by account
  std::map<std::string, std::int64_t> charges;            // by account: so many prices are gone

  bool contains(const std::string& receipt) const {
    return std::ranges::any_of(receipts,
                               [&](const auto& of) { return of.second.contains(receipt); });
  }
};

/// Tickets that have lost, in one book.
struct Losers {
  struct At {
    core::Digest beacon{};
    std::uint64_t round = 0;
  };
  std::map<std::string, At> tickets;  // by receipt
  std::uint64_t dropped = 0;          // were there once

  /// A receipt may be in one of both.
  void join(const Losers& others) {
    tickets.insert(others.tickets.begin(), others.tickets.end());
    dropped += others.dropped;
  }
};
/// In this store, whose daemon may run.
Losers losers_in(core::Store& store);

/// Which tickets a book may lack: no more than it had to drop, those that have lost, as those say
/// who computed them, and none younger than one that it kept.
class Dropped {
 public:
  Dropped(const Losers& kept, const Losers& theirs);
  /// Once for each that is not there.
  bool may(const std::string& receipt);

 private:
  const Losers& theirs_;
  std::map<core::Digest, std::uint64_t> oldest_;  // rounds of those that were kept, by beacon
  std::uint64_t left_, untold_;                   // as nobody keeps them any more
};

/// As its operator is told, once nobody asks any more. Each that was acknowledged must be there,
/// once, and paid for; of what nobody has heard of some may be, paid for or not (what another
/// provider has answered before is not).
Kept expect_receipts(client::Client& client, const Acknowledged& acknowledged);

/// What is in its store, once it has ended. Each answer that was acknowledged must have one charge
/// in the journal and one ticket; no receipt has two; and what each account has less is what its
/// receipts were charged. A book that was full has dropped some that lost, as `theirs` says.
/// Precondition: the journal was not cut yet (2^20 entries), nor tickets for their age (1,200
/// rounds).
void expect_books(core::Store& store, const Acknowledged& acknowledged, const Kept& kept,
                  const Losers& theirs = {});

/// Receipts, in hex, of tickets that are there. Its gateway may run.
std::set<std::string> receipts_in(core::Store& store, ticket::State state);

}  // namespace commensal::e2e
