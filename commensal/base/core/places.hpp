// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace commensal::core {

/// A connection, to whoever has to choose which of all makes room for one more.
struct Place {
  std::string party;          // the account that was heard on it last; of a stranger the network
  bool is_known = false;      // an account
  bool is_at_work = false;    // for that account: it stays
  std::int64_t since_ns = 0;  // it began, or the account was heard last
};

/// Which of them leaves, but for who is at work (nothing where all are). Pure.
/// 1. The party that has most of all is asked, if it has more than a quarter.
/// 2. Else strangers are, while they have more than a quarter, and the known while they have not.
/// 3. Of those the party that has most; all that have up to 16, as one client opens at once, count
///    as one party.
/// 4. Of it the oldest.
std::optional<std::size_t> who_leaves(std::span<const Place> places);

/// What a stream holds, to whoever has to choose which of all gives it back.
struct Holding {
  std::string party;
  std::int64_t bytes = 0;
};

/// Which of them ends, where `asker` finds no room: the largest of the party that has most; the
/// asker itself where that party is its own, or has more than `party_max`. Pure. Precondition:
/// asker < holdings.size().
std::size_t who_gives_back(std::span<const Holding> holdings, std::size_t asker,
                           std::int64_t party_max);

}  // namespace commensal::core
