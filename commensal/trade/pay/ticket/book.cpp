// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <optional>

namespace commensal::ticket {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::string_view kSums = "ticket-totals";

/// The totals are alone in their space.
core::Bytes sums_key() { return core::Bytes(Digest{}.size()); }

bool may_lapse(State state) { return state <= State::kDrawn || state == State::kWon; }

tl::unexpected<core::Error> in_ticket(const Digest& ticket, core::Error error) {
  return core::in_context(fmt::format("ticket {}", core::to_hex(ticket)), std::move(error));
}

Result<void> expect_ticket(const protocol::Receipt& receipt, std::uint64_t open_round,
                           std::uint64_t ahead_max) {
  if (receipt.round == protocol::kNoDraw || receipt.job.beacons.size() != 1) {
    return fail(ErrorCode::kInvalidArgument, "round {} of {} beacons, expected a round of one",
                receipt.round, receipt.job.beacons.size());
  }
  if (receipt.round < open_round) {
    return fail(ErrorCode::kFailedPrecondition, "round {} is closed, the first open one is {}",
                receipt.round, open_round);
  }
  if (receipt.round - open_round > ahead_max) {
    return fail(ErrorCode::kFailedPrecondition, "round {}, expected {} to {}", receipt.round,
                open_round, open_round + ahead_max);
  }
  return {};
}

}  // namespace

Result<void> TicketBook::open() {
  tickets_.clear();
  places_ = {};
  counts_ = {};
  ages_.clear();
  tallies_.clear();
  COMMENSAL_TRY(
      shelf_.open([this](const Digest& ticket, const Record& record) { keep(ticket, record); }));
  COMMENSAL_ASSIGN(const auto sums, store_.get(kSums, sums_key()));
  if (!sums) return {};
  COMMENSAL_ASSIGN(totals_, decode_totals(*sums));
  return {};
}

void TicketBook::count(const Digest& ticket, const Record& record, bool is_there) {
  const Place place{record.beacon, record.body.round, ticket};
  const std::pair age{record.committed_ms, ticket};
  Tally& tally = tallies_[record.beacon];
  if (is_there) {
    places(phase_of(record.state)).insert(place);
    if (may_lapse(record.state)) ages_.insert(age);
    ++counts_[static_cast<std::size_t>(record.state)];
    tally.add(record);
  } else {
    places(phase_of(record.state)).erase(place);
    ages_.erase(age);
    --counts_[static_cast<std::size_t>(record.state)];
    tally.remove(record);
  }
}

void TicketBook::keep(const Digest& ticket, const Record& record) {
  const Record* const before = find(ticket);
  const bool was_awaited = before == nullptr || !is_settled(before->state);
  if (before == nullptr) tallies_[record.beacon].see(record);
  if (before != nullptr) count(ticket, *before, false);
  count(ticket, record, true);
  tickets_.insert_or_assign(ticket, record);
  if (settled_ && was_awaited && is_settled(record.state)) settled_(ticket);
}

Result<void> TicketBook::apply(const std::vector<Change>& changes) {
  if (changes.empty()) return {};
  std::vector<Shelf::Item> items;
  Totals totals = totals_;
  for (const Change& change : changes) {
    const Record* before = find(change.ticket);
    add_to(totals, before != nullptr ? *before : Record{}, change.now);
    items.push_back({change.ticket, &change.now, change.receipt});
  }
  core::Store::Batch more;
  if (totals != totals_) more.push_back({std::string(kSums), sums_key(), encode(totals)});
  COMMENSAL_TRY(shelf_.write(items, std::move(more)));
  totals_ = totals;
  for (const Change& change : changes) keep(change.ticket, change.now);
  return {};
}

Result<TicketBook::Change> TicketBook::made(const NewTicket& ticket,
                                            std::uint64_t open_round) const {
  const protocol::Receipt& receipt = ticket.receipt;
  const protocol::ReceiptBody body = receipt.body();
  const Digest id = protocol::ticket_id(body);
  if (const auto fits = expect_ticket(receipt, open_round, config_.deadlines.ahead_rounds_max);
      !fits) {
    return in_ticket(id, fits.error());
  }
  if (find(id) != nullptr) {
    return in_ticket(id, {ErrorCode::kAlreadyExists, "there is one for this step already"});
  }
  return Change{id, Record{.state = State::kCommitted,
                           .beacon = receipt.job.beacons[0],
                           .body = body,
                           .face_value = receipt.job.face_value,
                           .win_threshold = receipt.job.win_threshold,
                           .output_root = ticket.output_root,
                           .output_salt = ticket.output_salt,
                           .committed_ms = static_cast<std::uint64_t>(clock_.wall_ms()),
                           .settled_ms = 0,
                           .paid = {}}};
}

Result<void> TicketBook::commit(std::span<const NewTicket> tickets, std::uint64_t open_round) {
  if (!room_for(tickets.size())) {
    return fail(ErrorCode::kResourceExhausted, "{} tickets are kept, at most {}: no new work",
                tickets_.size(), config_.tickets_max);
  }
  std::vector<Change> changes;
  std::set<Digest> seen;
  for (const NewTicket& ticket : tickets) {
    COMMENSAL_ASSIGN(Change change, made(ticket, open_round));
    if (!seen.insert(change.ticket).second) {
      return in_ticket(change.ticket,
                       {ErrorCode::kAlreadyExists, "there is one for this step already"});
    }
    changes.push_back(std::move(change));
  }
  return apply(changes);
}

Result<TicketBook::Change> TicketBook::change(const Digest& ticket, Event event) const {
  const Record* record = find(ticket);
  if (record == nullptr) {
    return in_ticket(ticket, {ErrorCode::kNotFound, "there is none of that name"});
  }
  const auto to = after(record->state, event);
  if (!to) return in_ticket(ticket, to.error());
  Change change{ticket, *record};
  change.now.state = *to;
  if (is_settled(*to)) change.now.settled_ms = static_cast<std::uint64_t>(clock_.wall_ms());
  return change;
}

Result<void> TicketBook::countersign(std::span<const protocol::Receipt> receipts) {
  std::vector<Change> changes;
  for (const protocol::Receipt& receipt : receipts) {
    const protocol::ReceiptBody body = receipt.body();
    COMMENSAL_ASSIGN(Change change, this->change(protocol::ticket_id(body), Event::kCountersign));
    if (change.now.body != body) {
      return in_ticket(change.ticket, {ErrorCode::kInvalidArgument,
                                       "countersigned with another commitment or round"});
    }
    change.receipt = &receipt;
    changes.push_back(std::move(change));
  }
  return apply(changes);
}

TicketBook::Phase TicketBook::phase_of(State state) {
  if (is_settled(state)) return Phase::kSettled;
  return state <= State::kDrawn ? Phase::kUndrawn : Phase::kWinner;
}

std::vector<TicketBook::Place> TicketBook::up_to(Phase phase, const Digest& beacon,
                                                 std::uint64_t round) const {
  const std::set<Place>& places = places_[static_cast<std::size_t>(phase)];
  std::vector<Place> found;
  for (auto at = places.lower_bound(Place{beacon, 0, {}});
       at != places.end() && std::get<0>(*at) == beacon && std::get<1>(*at) <= round; ++at) {
    found.push_back(*at);
  }
  return found;
}

Result<void> TicketBook::close(const Digest& beacon, std::uint64_t round) {
  std::vector<Change> changes;
  for (const Place& place : up_to(Phase::kUndrawn, beacon, round)) {
    const Digest& ticket = std::get<2>(place);
    const State state = find(ticket)->state;
    if (state > State::kCountersigned) continue;
    const Event event = state == State::kCommitted ? Event::kDrop : Event::kClose;
    COMMENSAL_ASSIGN(Change change, this->change(ticket, event));
    changes.push_back(std::move(change));
  }
  return apply(changes);
}

Result<std::vector<Digest>> TicketBook::draw(const beacon::TwoPartyBeacon& beacon) {
  std::vector<Change> changes;
  std::vector<Digest> winners;
  std::uint64_t round = protocol::kNoDraw;
  std::optional<Digest> value;
  for (const Place& place : up_to(Phase::kUndrawn, beacon.id(), ~std::uint64_t{0})) {
    const Digest& ticket = std::get<2>(place);
    const Record& record = *find(ticket);
    if (record.state != State::kDrawn) continue;
    if (record.body.round != round) {
      round = record.body.round;
      COMMENSAL_ASSIGN(value, beacon.value(round));
    }
    if (!value) break;  // nor is any later round known
    const bool won = wins(ticket::draw(*value, record.body), record.win_threshold);
    COMMENSAL_ASSIGN(Change change, this->change(ticket, won ? Event::kWin : Event::kLose));
    changes.push_back(std::move(change));
    if (won) winners.push_back(ticket);
  }
  COMMENSAL_TRY(apply(changes));
  return winners;
}

Result<void> TicketBook::move(std::span<const Move> moves) {
  std::vector<Change> changes;
  std::set<Digest> seen;
  for (const Move& move : moves) {
    COMMENSAL_ASSIGN(Change change, this->change(move.ticket, move.event));
    if (!seen.insert(move.ticket).second) {
      return in_ticket(move.ticket, {ErrorCode::kInvalidArgument, "moved twice in one batch"});
    }
    if (move.amount != Amount()) change.now.paid = move.amount;  // else what it was sold for
    changes.push_back(std::move(change));
  }
  return apply(changes);
}

std::vector<Move> TicketBook::overdue(const Digest& beacon, Event event, std::uint64_t round,
                                      std::size_t count_max) const {
  const bool is_draw = event == Event::kWithhold;
  const State late = is_draw ? State::kDrawn : State::kWon;
  const std::uint64_t rounds_max =
      is_draw ? config_.deadlines.reveal_rounds_max : config_.deadlines.opening_rounds_max;
  std::vector<Move> found;
  if (round <= rounds_max) return found;
  const std::set<Place>& places = places_[static_cast<std::size_t>(phase_of(late))];
  for (auto at = places.lower_bound(Place{beacon, 0, {}});
       at != places.end() && found.size() < count_max; ++at) {
    const auto& [owner, of_round, ticket] = *at;
    if (owner != beacon || of_round >= round - rounds_max) break;
    if (find(ticket)->state == late) found.push_back({ticket, event, {}});
  }
  return found;
}

Result<std::size_t> TicketBook::lapse(std::uint64_t before_ms, std::size_t count_max) {
  std::vector<Change> changes;
  for (const auto& [committed_ms, ticket] : ages_) {
    if (committed_ms >= before_ms || changes.size() >= count_max) break;
    COMMENSAL_ASSIGN(Change change, this->change(ticket, Event::kLapse));
    changes.push_back(std::move(change));
  }
  COMMENSAL_TRY(apply(changes));
  return changes.size();
}

Result<void> TicketBook::lapse_undrawn(const Digest& beacon, std::uint64_t round) {
  std::vector<Change> changes;
  for (const Place& place : up_to(Phase::kUndrawn, beacon, round)) {
    COMMENSAL_ASSIGN(Change change, this->change(std::get<2>(place), Event::kLapse));
    changes.push_back(std::move(change));
  }
  return apply(changes);
}

/// What stays of the rounds of which these go. In the order of `old`, which is by round.
std::vector<Shelf::Rest> TicketBook::without(const std::vector<Place>& old) const {
  std::vector<Shelf::Rest> rounds;
  for (const auto& [beacon, round, ticket] : old) {
    if (rounds.empty() || rounds.back().round != round) rounds.push_back({beacon, round, {}, {}});
    rounds.back().dropped.push_back(ticket);
  }
  for (Shelf::Rest& rest : rounds) {
    const std::set<Digest> dropped(rest.dropped.begin(), rest.dropped.end());
    for (const std::set<Place>& places : places_) {
      for (auto at = places.lower_bound(Place{rest.beacon, rest.round, {}});
           at != places.end() && std::get<0>(*at) == rest.beacon && std::get<1>(*at) == rest.round;
           ++at) {
        const Digest& ticket = std::get<2>(*at);
        if (!dropped.contains(ticket)) rest.left.push_back({ticket, find(ticket), nullptr});
      }
    }
  }
  return rounds;
}

Result<std::size_t> TicketBook::prune(const Digest& beacon, std::uint64_t acknowledged_round,
                                      std::size_t count_max) {
  const std::size_t most = config_.tickets_max / 2;
  const std::size_t excess = tickets_.size() > most ? tickets_.size() - most : 0;
  const std::set<Place>& settled = places(Phase::kSettled);
  std::vector<Place> old;
  for (auto at = settled.lower_bound(Place{beacon, 0, {}});
       at != settled.end() && old.size() < count_max; ++at) {
    const auto& [owner, round, ticket] = *at;
    if (owner != beacon || round >= acknowledged_round) break;
    const bool is_old = round + config_.deadlines.kept_rounds < acknowledged_round;
    if (!is_old && old.size() >= excess) break;
    if (is_old || find(ticket)->state == State::kLost) old.push_back(*at);
  }
  if (old.empty()) return 0;
  COMMENSAL_TRY(shelf_.rewrite(without(old)));
  for (const Place& place : old) {
    const auto found = tickets_.find(std::get<2>(place));
    count(found->first, found->second, false);
    tickets_.erase(found);
  }
  if (tallies_.at(beacon).is_empty()) tallies_.erase(beacon);
  return old.size();
}

const Record* TicketBook::find(const Digest& ticket) const {
  const auto found = tickets_.find(ticket);
  return found == tickets_.end() ? nullptr : &found->second;
}

Result<protocol::Receipt> TicketBook::receipt(const Digest& ticket) {
  const Record* const record = find(ticket);
  if (record == nullptr) {
    return in_ticket(ticket, {ErrorCode::kNotFound, "there is none of that name"});
  }
  auto receipt = shelf_.receipt(ticket, *record);
  if (!receipt) return in_ticket(ticket, receipt.error());
  return receipt;
}

std::vector<Record> TicketBook::waiting(const Digest& beacon, std::uint64_t closed_round) const {
  const std::set<Place>& undrawn = places_[static_cast<std::size_t>(Phase::kUndrawn)];
  std::vector<Record> found;
  for (auto at = undrawn.lower_bound(Place{beacon, closed_round + 1, {}});
       at != undrawn.end() && std::get<0>(*at) == beacon; ++at) {
    const Record& record = *find(std::get<2>(*at));
    if (record.state == State::kCountersigned) found.push_back(record);
  }
  return found;
}

std::size_t TicketBook::awaited(const Digest& beacon) const {
  const auto found = tallies_.find(beacon);
  return found == tallies_.end() ? 0 : found->second.awaited();
}

std::vector<Record> TicketBook::in(State state) const {
  std::vector<Record> found;
  for (const Place& place : places_[static_cast<std::size_t>(phase_of(state))]) {
    if (!has(state)) break;
    const Record& record = *find(std::get<2>(place));
    if (record.state == state) found.push_back(record);
  }
  return found;
}

std::vector<Record> TicketBook::open_claims() const {
  std::vector<Record> found;
  for (const Place& place : places_[static_cast<std::size_t>(Phase::kWinner)]) {
    const Record& record = *find(std::get<2>(place));
    if (record.state == State::kOpened || record.state == State::kSold) found.push_back(record);
  }
  return found;
}

}  // namespace commensal::ticket
