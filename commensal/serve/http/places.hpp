// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace commensal::http {

/// A connection, to whoever has to choose which of all makes room for one more.
struct Place {
  std::string party;          // the account that was heard on it last; of a stranger the network
  bool is_known = false;      // an account
  bool is_at_work = false;    // for that account: it stays
  std::int64_t since_ns = 0;  // it began, or the account was heard last
};

/// Which of them leaves: the oldest of the party that has most of all, if that is more than a
/// quarter; else of strangers while they have more than a quarter, and of the known while they have
/// not, the oldest of the party that has most. What one client opens at once makes no difference:
/// so few are alike, and the oldest of all those parties leaves, not who has only just come.
/// Nothing where all are at work. Pure.
std::optional<std::size_t> who_leaves(std::span<const Place> places);

}  // namespace commensal::http
