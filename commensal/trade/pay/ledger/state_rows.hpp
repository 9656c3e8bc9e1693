// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/state.hpp>

/// How the state lies in a store: a row for each row of its tables, so that a write costs what has
/// changed and a ledger may grow for years. Space "ledger_state": (number of the table, key) ->
/// value; under the empty key what belongs to no table, with a sum over the hashes of all others.
namespace commensal::ledger {

inline constexpr std::string_view kStateSpace = "ledger_state";

/// Sum of the rows' hashes, each 1,024 numbers of 16 bits, number by number: the order does not
/// matter, so it follows each write at the price of the rows written, and nobody finds two sets of
/// rows of one sum.
/// Source: Lewi, Kim, Maykov and Weis, "Securing Update Propagation with Homomorphic Hashing"
/// (2019), LtHash16; a row's numbers are ChaCha20's stream under its SHA-256.
class RowSum {
 public:
  void add(core::ByteView key, core::ByteView value);
  void remove(core::ByteView key, core::ByteView value);

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    for (auto& number : self.numbers_) archive.field("sum", number);
  }
  bool operator==(const RowSum&) const = default;

 private:
  std::array<std::uint16_t, 1024> numbers_{};
};

/// What lies under the empty key, and what a Checkpoint's root is the hash of.
struct Root {
  State::Scalars scalars;
  RowSum sum;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("scalars", self.scalars);
    archive.field("sum", self.sum);
  }
};
core::Bytes encode_root(const Root& root);
/// Error: kDataLoss.
core::Result<Root> decode_root(core::ByteView bytes);
/// H("commensal/ledger/root/v1", encoding): equal roots, equal states.
Digest root_digest(const Root& root);
/// The same of a state as it is, all of it added up: O(rows).
Digest state_root(const State& state);

/// A row that changed. Absent: there was none, there is none.
struct RowChange {
  core::Bytes key;
  std::optional<core::Bytes> before;
  std::optional<core::Bytes> now;
};
/// What changed since the last take_changes().
std::vector<RowChange> changes_of(const State& state);
/// The same, and from now on it counts as written.
std::vector<RowChange> take_changes(State& state);
void add_to(RowSum& sum, const std::vector<RowChange>& changes);

/// Rows by key, that of what belongs to no table too; as a store has them.
using Rows = std::map<core::Bytes, core::Bytes>;
core::Result<Rows> read_rows(core::Store& store);

struct StoredState {
  State state;
  RowSum sum;
};
/// Of a state that was made otherwise: all of it added up, O(rows).
StoredState with_sum(State state);
/// The state that rows are; that before any entry where there are none. Errors: kDataLoss for a row
/// that does not decode, and for rows that are not those written.
core::Result<StoredState> state_of(const Rows& rows);
/// The same of what the store holds, row by row. Errors: the store's too.
core::Result<StoredState> read_state(core::Store& store);

}  // namespace commensal::ledger
