// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/state.hpp>

/// How the state lies in a store: a row for each row of its tables, so that a write costs what has
/// changed and a ledger may grow for years. Space "ledger_state": (number of the table, key) ->
/// value; under the empty key what belongs to no table, with a sum over the hashes of all others.
namespace commensal::ledger {

inline constexpr std::string_view kStateSpace = "ledger_state";

/// Sum, modulo 2^256, of the rows' hashes: the order does not matter, so it follows each write at
/// the price of the rows written. It finds what a medium breaks or loses; whoever can write to the
/// store can write it too (verify() trusts the journal alone).
/// Source: Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing" (1997), AdHash.
class RowSum {
 public:
  void add(core::ByteView key, core::ByteView value);
  void remove(core::ByteView key, core::ByteView value);

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("sum", self.sum_);
  }
  bool operator==(const RowSum&) const = default;

 private:
  Digest sum_{};  // little-endian
};

/// The writes that bring a store from the last call's state to this one; `sum` follows.
core::Store::Batch take_writes(State& state, RowSum& sum);

struct StoredState {
  State state;
  RowSum sum;
};
/// The state that the store holds; that before any entry where it holds none. Errors: the store's;
/// kDataLoss for a row that does not decode, and for rows that are not those written.
core::Result<StoredState> read_state(core::Store& store);

}  // namespace commensal::ledger
