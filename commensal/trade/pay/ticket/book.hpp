// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ticket/shelf.hpp>
#include <commensal/trade/pay/ticket/tally.hpp>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace commensal::ticket {

/// Counted in rounds: for a reveal in those that are closed, for the rest in those that the
/// provider has acknowledged, so that nobody who is cut off misses one.
struct Deadlines {
  std::uint64_t ahead_rounds_max = 2;   // a ticket's round is at most so far behind the first open
  std::uint64_t reveal_rounds_max = 8;  // for the provider's reveal of a closed round
  std::uint64_t opening_rounds_max = 600;  // for opening a winner
  std::uint64_t kept_rounds = 1200;        // a settled ticket may be asked for so long
};

struct BookConfig {
  std::size_t tickets_max = limits::kTicketsMax;
  Deadlines deadlines;
};

/// A new ticket: a receipt that the provider has signed, the client perhaps not yet.
struct NewTicket {
  protocol::Receipt receipt;
  core::Digest output_root{};
  core::Digest output_salt{};
};

struct Move {
  core::Digest ticket{};
  Event event = Event::kPay;
  Amount amount;  // what its provider is paid by this, where it is
};

/// All tickets of one party, gateway or provider: durable, bounded, each moved by the table of
/// state.hpp only. Every call that changes something is one atomic batch of the store; it is
/// durable when the call returns (or with the hold of a JointStore, which may hold the caller's
/// writes too), and nothing has changed where it fails. Tickets are grouped by their job's beacon,
/// that is by the other party. Thread-safety: one thread, the store's.
class TicketBook {
 public:
  /// Both must outlive this object.
  TicketBook(core::Store& store, const core::Clock& clock, const BookConfig& config = {})
      : store_(store), shelf_(store), clock_(clock), config_(config) {}

  /// Reads what is there; call once before the rest. Error: kDataLoss.
  core::Result<void> open();

  std::size_t size() const { return tickets_.size(); }
  /// How many of them are not settled.
  std::size_t awaited() const { return places_[0].size() + places_[1].size(); }
  /// At the limit there is no new work: settled tickets leave only by prune().
  bool room_for(std::size_t count) const { return tickets_.size() + count <= config_.tickets_max; }

  /// Errors: kResourceExhausted (no room), kAlreadyExists (a second commitment to one step),
  /// kFailedPrecondition (the round is closed or too far ahead), kInvalidArgument (not a ticket).
  core::Result<void> commit(std::span<const NewTicket> tickets, std::uint64_t open_round);
  /// Receipts with both signatures, of tickets that were committed. Errors: kNotFound, those of
  /// after(), kInvalidArgument where the body is another.
  core::Result<void> countersign(std::span<const protocol::Receipt> receipts);
  /// The gateway has revealed `round`: what is countersigned up to it is drawn, the rest void.
  core::Result<void> close(const core::Digest& beacon, std::uint64_t round);
  /// Decides the tickets that are drawn, as far as the beacon knows its value; returns the winners.
  core::Result<std::vector<core::Digest>> draw(const beacon::TwoPartyBeacon& beacon);
  /// What happens to tickets one by one. Errors: kNotFound, those of after().
  core::Result<void> move(std::span<const Move> moves);

  /// The first tickets of a beacon whose deadline has passed: by kWithhold those that were to be
  /// drawn, `round` being the last one closed, by kSilence those to be opened, `round` the last one
  /// acknowledged. At most `count_max`, by round.
  std::vector<Move> overdue(const core::Digest& beacon, Event event, std::uint64_t round,
                            std::size_t count_max = ~std::size_t{0}) const;
  /// Voids what was committed to before `before_ms` and is neither open nor settled, the oldest
  /// first, at most `count_max` in one batch; returns how many.
  core::Result<std::size_t> lapse(std::uint64_t before_ms, std::size_t count_max = 1024);
  /// The same of the tickets of one beacon up to a round that wait for their draw.
  core::Result<void> lapse_undrawn(const core::Digest& beacon, std::uint64_t round);
  /// Drops settled tickets that nobody may ask for any more, at most `count_max` in one batch;
  /// returns how many. A book that is more than half full lets lost tickets go before that, the
  /// oldest first: they are owed nothing, and new work must find room.
  core::Result<std::size_t> prune(const core::Digest& beacon, std::uint64_t acknowledged_round,
                                  std::size_t count_max = 4096);

  /// Null: not there. Valid until the next change.
  const Record* find(const core::Digest& ticket) const;
  /// Of a ticket that was countersigned and has not lost; nothing is owed for another. Errors:
  /// kNotFound, kDataLoss.
  core::Result<protocol::Receipt> receipt(const core::Digest& ticket);
  /// All in `state`, by beacon and round.
  std::vector<Record> in(State state) const;
  /// Those that are open in the ledger, sold or not; by beacon and round too.
  std::vector<Record> open_claims() const;
  bool has(State state) const { return count(state) > 0; }
  std::size_t count(State state) const { return counts_[static_cast<std::size_t>(state)]; }
  /// How many of a beacon's are not settled.
  std::size_t awaited(const core::Digest& beacon) const;
  /// What is kept, beacon by beacon.
  const std::map<core::Digest, Tally>& tallies() const { return tallies_; }
  /// Calls `settled` with each ticket on which nothing is awaited any more. One listener.
  void on_settled(std::function<void(const core::Digest& ticket)> settled) {
    settled_ = std::move(settled);
  }
  /// Countersigned tickets of rounds after `closed_round`, by round: the gateway has to draw them.
  std::vector<Record> waiting(const core::Digest& beacon, std::uint64_t closed_round) const;
  const Totals& totals() const { return totals_; }

 private:
  using Place = std::tuple<core::Digest, std::uint64_t, core::Digest>;  // beacon, round, ticket
  /// Drawing a round looks at no winner that waits, and at nothing that is settled.
  enum class Phase : std::uint8_t { kUndrawn, kWinner, kSettled };
  struct Change {
    core::Digest ticket;
    Record now;
    const protocol::Receipt* receipt = nullptr;  // to be stored too
  };

  core::Result<Change> change(const core::Digest& ticket, Event event) const;
  core::Result<Change> made(const NewTicket& ticket, std::uint64_t open_round) const;
  core::Result<void> apply(const std::vector<Change>& changes);
  void keep(const core::Digest& ticket, const Record& record);
  void count(const core::Digest& ticket, const Record& record, bool is_there);
  static Phase phase_of(State state);
  std::set<Place>& places(Phase phase) { return places_[static_cast<std::size_t>(phase)]; }
  /// The places of `beacon` up to `round`.
  std::vector<Place> up_to(Phase phase, const core::Digest& beacon, std::uint64_t round) const;
  std::vector<Shelf::Rest> without(const std::vector<Place>& old) const;

  core::Store& store_;
  Shelf shelf_;
  const core::Clock& clock_;
  const BookConfig config_;
  std::map<core::Digest, Record> tickets_;
  std::array<std::set<Place>, 3> places_;  // by Phase
  std::array<std::size_t, kStates> counts_{};
  std::set<std::pair<std::uint64_t, core::Digest>>
      ages_;                               // of what may lapse: committed_ms, ticket
  std::map<core::Digest, Tally> tallies_;  // by beacon, none empty
  std::function<void(const core::Digest&)> settled_;
  Totals totals_;
};

}  // namespace commensal::ticket
