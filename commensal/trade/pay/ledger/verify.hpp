// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>
#include <functional>

namespace commensal::ledger {

struct Verified {
  State state;  // what the journal adds up to
  Digest root{};
  std::uint64_t entries = 0;
  std::uint64_t from = 0;  // the first that was run: 0, or a Checkpoint
  bool has_state = false;  // what is stored as the state is that too; false: written to meanwhile
};

/// Trusts nothing but the rules and, where the journal was cut, the Checkpoint that it begins with,
/// whose root must be that of the rows kept of it: every entry from there on is run again,
/// signatures included, and must give the same bytes; balances are also added up from the postings
/// alone, and must be those of the state; the stored state and the head must fit. `progress` is
/// told the entries done so far. `arbiter` is that of the book: a journal with disputes needs one.
/// Error: kDataLoss, "entry 17: ..." for the first that is wrong; kNotFound where there is no
/// ledger; kUnavailable where it is written to all the time; the store's.
core::Result<Verified> verify(
    core::Store& store, const Signatures& signatures,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {},
    const Arbiter* arbiter = nullptr);

}  // namespace commensal::ledger
