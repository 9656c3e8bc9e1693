// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/provider/purse.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <commensal/trade/pay/ticket/cover.hpp>
#include <commensal/trade/pay/ticket/undecided.hpp>
#include <limits>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;
using core::Result;
using ticket::Event;
using ticket::State;

namespace {

constexpr std::uint64_t kRoundsSpare = 16;               // of the chain, for what is under way
constexpr std::string_view kHashChains = "hash_chains";  // gateway -> our chain for it
constexpr std::string_view kClosed = "closed";           // gateway -> Agreed

/// What tickets are drawn by: the gateway's chain, as far as it was shown, and ours.
struct Agreed {
  static constexpr std::string_view kRecord = "agreed hash chains";

  rpc::HashChainPosition gateway;
  protocol::HashChainHead own;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("gateway", self.gateway);
    archive.field("own", self.own);
  }
};

core::Bytes key_of(const crypto::Address& address) {
  return {address.bytes.begin(), address.bytes.end()};
}

std::optional<Event> event_named(std::string_view name) {
  const auto names = ticket::enum_names(Event{});
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Event>(found - names.begin());
}

/// What has happened to a ticket of which the gateway says where it has got to; nothing where it
/// cannot have, and where its word alone would cost us what we can claim.
std::vector<Event> way_to(State state, Event end) {
  const bool is_fine = end == Event::kPenalise || end == Event::kSlash;
  const bool is_open = state == State::kOpened || state == State::kSold;
  if (state == State::kCountersigned && end == Event::kDefault) return {end};
  if (state == State::kLost && is_fine) return {end};
  if (state == State::kWon && end == Event::kOpen) return {end};
  if (state == State::kWon && end == Event::kSell) return {Event::kOpen, end};
  if (state == State::kOpened && end == Event::kSell) return {end};
  if (!is_fine && end != Event::kPay) return {};
  if (state == State::kWon) return {Event::kOpen, Event::kAudit, end};
  if (is_open) return {Event::kAudit, end};
  return {};
}

}  // namespace

Purse::Purse(const Dependencies& deps, const PurseConfig& config)
    : deps_(deps),
      config_(config),
      tickets_(deps_.store, deps_.clock, {.tickets_max = config.tickets_max, .deadlines = {}}),
      recourse_(tickets_, deps_.clock, config.reveal_ms_max),
      unjudged_(deps_.store, deps_.clock),
      sales_(tickets_, deps_.clock, config.sell_pm) {
  tickets_.on_settled([this](const core::Digest& ticket) { unjudged_.forget(ticket); });
}

Result<void> Purse::open() {
  COMMENSAL_TRY(tickets_.open());
  return unjudged_.open(
      [this](const core::Digest& ticket) { return ticket::is_undecided(tickets_, ticket); });
}

/// One that we have had for long is anchored anew where the gateway could hardly follow it.
Result<void> Purse::load_chain(const rpc::HashChainPosition& shown) {
  const crypto::Address& gateway = shown.head.owner;
  const std::uint64_t round = shown.round;
  if (!chain_ || gateway != gateway_) COMMENSAL_TRY(open_chain(gateway, round));
  // Before its end comes, where nothing is left that only it can draw.
  const std::uint64_t last_part = (std::uint64_t{1} << config_.hash_chain_depth) / 32;
  if (chain_->rounds_left() < last_part && undrawn() == 0) {
    return chain_->renew(std::max(round, chain_->round()));
  }
  if (round <= chain_->round()) return {};
  if (round - chain_->round() >= chain_->rounds_left()) return chain_->renew(round);
  if (round - chain_->round() > limits::kRevealGapMax / 2) return chain_->anchor_at(round);
  return {};
}

Result<void> Purse::open_chain(const crypto::Address& gateway, std::uint64_t round) {
  COMMENSAL_ASSIGN(auto chain, beacon::StoredHashChain::open(
                                   {&deps_.store, std::string(kHashChains), key_of(gateway),
                                    &deps_.key, &deps_.rng, config_.hash_chain_depth},
                                   round));
  chain_.emplace(std::move(chain));
  gateway_ = gateway;
  return {};
}

/// From where we left off, by the head that we have agreed on, as long as our own is the same: the
/// gateway's chain may have got another head since.
Result<beacon::HashChainTracker> Purse::load_closed(const rpc::HashChainPosition& shown) {
  const protocol::HashChainHead& head = shown.head;
  beacon::HashChainTracker from_shown(head, shown.round, shown.value);
  const beacon::HashChainTracker anchored(head);
  if (shown.round != head.first) COMMENSAL_TRY(anchored.check(shown.round, shown.value));
  if (shown.round == head.first && shown.value != head.anchor) {
    return fail(ErrorCode::kInvalidArgument, "the gateway's hash chain is not at its anchor");
  }
  COMMENSAL_ASSIGN(const auto bytes, deps_.store.get(kClosed, key_of(head.owner)));
  if (!bytes) return from_shown;
  COMMENSAL_ASSIGN(const auto kept, protocol::decode_stored<Agreed>(*bytes));
  const bool is_same_chain = kept.gateway.head.rounds == head.rounds;
  if (!is_same_chain || kept.own != chain_->head()) return from_shown;
  beacon::HashChainTracker closed(kept.gateway.head, kept.gateway.round, kept.gateway.value);
  if (shown.round > closed.round() && !closed.accept(shown.round, shown.value)) return from_shown;
  return closed;
}

Result<void> Purse::keep_closed(const beacon::HashChainTracker& gateway) {
  const Agreed kept{{gateway.head(), gateway.round(), gateway.value()}, chain_->head()};
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(kept));
  return deps_.store.apply({{std::string(kClosed), key_of(gateway.head().owner), std::move(row)}});
}

Result<std::optional<rpc::HashChainPosition>> Purse::meet(
    const std::optional<rpc::HashChainPosition>& gateway) {
  beacon_.reset();
  under_way_ = false;
  waiting_.clear();
  if (!gateway) return std::nullopt;
  COMMENSAL_TRY(protocol::verify_hash_chain_head(gateway->head));
  COMMENSAL_TRY(load_chain(*gateway));
  COMMENSAL_ASSIGN(const beacon::HashChainTracker closed, load_closed(*gateway));
  beacon_.emplace(closed, chain_->tracker());
  COMMENSAL_TRY(keep_closed(closed));
  COMMENSAL_TRY(forget());
  // What was closed while we were away is drawn now.
  if (closed.round() > chain_->round()) {
    COMMENSAL_TRY(on_reveal({closed.round(), closed.value()}));
  }
  return rpc::HashChainPosition{chain_->head(), chain_->round(), chain_->value()};
}

/// What gateways that are gone, or have another chain now, have left undecided or settled here.
Result<void> Purse::forget() {
  const std::int64_t before_ms = deps_.clock.wall_ms() - 2 * limits::kTicketLapseMs;
  COMMENSAL_TRY(tickets_.lapse(static_cast<std::uint64_t>(std::max<std::int64_t>(before_ms, 0))));
  std::vector<core::Digest> others;
  for (const auto& [beacon, tally] : tickets_.tallies()) {
    if (beacon != beacon_->id()) others.push_back(beacon);
  }
  for (const core::Digest& beacon : others) {
    COMMENSAL_TRY(tickets_.prune(beacon, std::numeric_limits<std::uint64_t>::max()));
  }
  return {};
}

void Purse::resume() { claim(); }

Result<void> Purse::accept(const protocol::Job& job) const {
  if (!beacon_) {
    if (!job.beacons.empty()) {
      return fail(ErrorCode::kFailedPrecondition, "the job's beacon is unknown here");
    }
    if (config_.pay_min == protocol::Amount()) return {};
    return fail(ErrorCode::kFailedPrecondition, "the gateway pays nothing, expected at least {}",
                to_text(config_.pay_min));
  }
  if (job.beacons.size() != 1 || job.beacons[0] != beacon_->id()) {
    return fail(ErrorCode::kFailedPrecondition, "the job has not the beacon that we agreed on");
  }
  const protocol::Amount value = ticket::expected_value(job.face_value, job.win_threshold);
  if (value < config_.pay_min) {
    return fail(ErrorCode::kFailedPrecondition, "its ticket is worth {}, expected at least {}",
                to_text(value), to_text(config_.pay_min));
  }
  // For so long its stake may be asked for.
  const auto now_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(deps_.clock.wall_ms(), 0));
  if (job.valid_until_ms == 0 || job.valid_until_ms > now_ms + limits::kJobValidMsMax) {
    return fail(ErrorCode::kFailedPrecondition, "it is valid for ever or beyond {} days",
                limits::kJobValidMsMax / 86'400'000);
  }
  if (const auto missing = recourse_.missing_round();
      missing && *missing > beacon_->closed_round()) {
    return fail(ErrorCode::kFailedPrecondition, "the gateway has not drawn round {}: no more work",
                *missing);
  }
  if (chain_->rounds_left() < kRoundsSpare) {
    return fail(ErrorCode::kFailedPrecondition,
                "the provider's hash chain is at its end: start it again");
  }
  if (!tickets_.room_for(1)) {
    return fail(ErrorCode::kResourceExhausted, "the provider holds {} tickets, its limit",
                tickets_.size());
  }
  return check_cover(job);
}

/// The gateway's word about its ledger, against what we know of our own tickets.
Result<void> Purse::check_cover(const protocol::Job& job) const {
  if (config_.accepts_uncovered || job.face_value == protocol::Amount()) return {};
  if (!balance_ || balance_->ledger != gateway_) {
    return fail(ErrorCode::kFailedPrecondition,
                "the gateway has not said yet what its escrow has, which pays for this job");
  }
  const rpc::Balance& known = *balance_;
  const std::uint64_t owed = std::max<std::uint64_t>(known.owed, tickets_.awaited(beacon_->id()));
  return ticket::check_cover({known.escrow, known.penalty_escrow}, owed + 1,
                             ticket::probability_of(job.win_threshold), job.face_value,
                             known.auditor_fee, config_.wants_penalty_cover);
}

/// One more than the first that is open: the gateway may close that while we say so.
std::uint64_t Purse::round_for(const protocol::Job& job) const {
  return job.beacons.empty() || !beacon_ ? protocol::kNoDraw : beacon_->closed_round() + 2;
}

Result<void> Purse::commit(std::span<const ticket::NewTicket> tickets) {
  std::vector<ticket::NewTicket> drawn;
  for (const ticket::NewTicket& one : tickets) {
    if (one.receipt.round != protocol::kNoDraw) drawn.push_back(one);
  }
  if (drawn.empty()) return {};
  return tickets_.commit(drawn, beacon_->closed_round() + 1);
}

Result<void> Purse::countersign(std::span<const protocol::Receipt> receipts) {
  std::vector<protocol::Receipt> drawn;
  for (const protocol::Receipt& one : receipts) {
    if (one.round != protocol::kNoDraw) drawn.push_back(one);
  }
  return drawn.empty() ? Result<void>{} : tickets_.countersign(drawn);
}

Result<void> Purse::on_reveal(const rpc::Reveal& reveal) {
  if (!beacon_) return fail(ErrorCode::kFailedPrecondition, "a reveal of no beacon");
  if (reveal.round <= beacon_->drawn_round()) return {};
  COMMENSAL_TRY(beacon_->on_gateway_reveal(reveal.round, reveal.value));
  rpc::Reveal own{reveal.round, {}};
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_TRY(keep_closed(beacon_->gateway()));
    COMMENSAL_TRY(tickets_.close(beacon_->id(), reveal.round));
    COMMENSAL_ASSIGN(own.value, chain_->reveal(own.round));
    COMMENSAL_TRY(beacon_->on_provider_reveal(own.round, own.value));
    COMMENSAL_TRY(tickets_.draw(*beacon_));
    COMMENSAL_TRY(tickets_.prune(beacon_->id(), own.round));
    return {};
  }));
  deps_.gateway.send(own);
  claim();
  return {};
}

/// Winners, those too that were claimed before and not yet decided on.
void Purse::claim() {
  std::vector<rpc::Claims::Item> items;
  for (const State state : {State::kWon, State::kOpened, State::kSold}) {
    for (const ticket::Record& record : tickets_.in(state)) {
      if (items.size() == limits::kListItemsMax) break;  // the rest after these
      if (!beacon_ || record.beacon != beacon_->id()) continue;
      auto receipt = tickets_.receipt(record.id());
      if (!receipt) continue;
      items.push_back({*std::move(receipt), record.output_root, record.output_salt});
    }
  }
  for (rpc::Claims& claims : rpc::Claims::in_messages(std::move(items))) {
    deps_.gateway.send(std::move(claims));
  }
}

Result<void> Purse::on_outcomes(const rpc::Outcomes& outcomes) {
  // In one write: a ticket that a kill left audited would be claimed no more.
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    for (const rpc::Outcomes::Item& item : outcomes.items) {
      const auto event = event_named(item.event);
      const ticket::Record* const record = tickets_.find(item.ticket);
      if (!event || record == nullptr) continue;
      const bool is_open = *event == Event::kOpen;
      if (is_open) sales_.told(item.ticket, item.amount);
      if (is_open && record->state == State::kWon) COMMENSAL_TRY(unjudged_.note(item.ticket));
      for (const Event step : way_to(record->state, *event)) {
        const bool pays = step == *event && !is_open;
        const ticket::Move move{item.ticket, step, pays ? item.amount : protocol::Amount()};
        COMMENSAL_TRY(tickets_.move({&move, 1}));
      }
    }
    return {};
  }));
  if (config_.sell_pm > 0) look();
  return {};
}

void Purse::on_balance(const rpc::Balance& balance) {
  balance_ = balance;
  if (balance.is_answer) under_way_ = false;
  if (under_way_) return;
  if (!waiting_.empty()) return send_next();
  const protocol::Amount missing = stake_to_lock();
  if (missing == protocol::Amount()) return look();
  transact(ledger::Fund{ledger::AccountKind::kStake, missing});
}

/// Never more than its owner wants to have at stake, whatever the gateway asks for; and of less
/// than that no more than the gateway asks for: what is earned is not locked bit by bit.
protocol::Amount Purse::stake_to_lock() const {
  for (const protocol::Amount& wanted :
       {config_.stake, std::min(config_.stake, balance_->stake_wanted)}) {
    const auto missing = wanted.minus(balance_->stake);
    if (missing && balance_->available >= *missing) return *missing;
  }
  return {};
}

void Purse::transact(ledger::Body body) {
  waiting_.push_back(std::move(body));
  if (balance_ && !under_way_) send_next();
}

/// One at a time is under way: each has the number that the one before it left.
void Purse::send_next() {
  ledger::Body body = std::move(waiting_.front());
  waiting_.pop_front();
  if (balance_->ledger != gateway_)
    return;  // signatures for another ledger are none of its business
  under_way_ = true;
  ledger::Transaction made;
  made.ledger = balance_->ledger;
  made.sender = deps_.key.address();
  made.nonce = balance_->nonce;
  made.body = std::move(body);
  ledger::sign(deps_.key, made);
  deps_.gateway.send(rpc::Transact{protocol::encode(made)});
}

std::size_t Purse::undrawn() const {
  if (!beacon_) return 0;
  std::size_t count = 0;
  for (const State state : {State::kCommitted, State::kCountersigned, State::kDrawn}) {
    if (!tickets_.has(state)) continue;
    for (const ticket::Record& one : tickets_.in(state)) count += one.beacon == beacon_->id();
  }
  return count;
}

void Purse::look() {
  if (!beacon_ || !balance_ || under_way_) return;
  auto step = recourse_.next(*beacon_, balance_->reveal_delay_ms);
  if (step && *step) return transact(**std::move(step));
  const auto is_its = [this](const core::Digest& ticket) {
    const ticket::Record* const record = tickets_.find(ticket);
    return record != nullptr && record->beacon == beacon_->id();
  };
  const auto winner = unjudged_.next(balance_->audit_delay_ms, is_its);
  if (winner) return transact(ledger::Mature{*winner});
  if (auto offer = sales_.next(beacon_->id())) transact(*std::move(offer));
}

std::size_t Purse::unjudged() const {
  return balance_ ? unjudged_.overdue(balance_->audit_delay_ms) : 0;
}

}  // namespace commensal::provider
