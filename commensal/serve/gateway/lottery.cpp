// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;
using ledger::AccountKind;
using protocol::Amount;
using ticket::Event;
using ticket::State;

namespace {

constexpr std::string_view kHashChain = "hash_chain", kOwn = "own";
constexpr std::size_t kUndecidedMin = 64;  // of a provider, however small the book
constexpr std::uint64_t kLastPart = 32;    // of a chain; at a start another takes its place then
constexpr int kWrongMax = 3;               // each may cost limits::kRevealGapMax hashes

}  // namespace

Lottery::Lottery(const Dependencies& deps, const MoneyConfig& config)
    : deps_(deps), config_(config), address_(deps_.key.address()) {}

ticket::BookConfig Lottery::book_config(const MoneyConfig& config) {
  return {.tickets_max = config.tickets_max,
          .deadlines = {.opening_rounds_max = config.rules.opening_rounds}};
}

Result<void> Lottery::open() {
  if (!is_on()) return {};
  COMMENSAL_ASSIGN(threshold_, ticket::threshold_of(config_.win_probability));
  COMMENSAL_TRY(deps_.tickets.open());
  COMMENSAL_ASSIGN(auto chain, beacon::StoredHashChain::open({&deps_.store,
                                                              std::string(kHashChain),
                                                              {kOwn.begin(), kOwn.end()},
                                                              &deps_.key,
                                                              &deps_.rng,
                                                              config_.hash_chain_depth}));
  chain_.emplace(std::move(chain));
  if (chain_->rounds_left() < (std::uint64_t{1} << config_.hash_chain_depth) / kLastPart) {
    COMMENSAL_TRY(chain_->renew(chain_->round()));
  }
  find_heads();
  show_chain();
  opened_ms_ = deps_.clock.wall_ms();
  for (const auto& [beacon, tally] : deps_.tickets.tallies()) load(beacon);
  return {};
}

/// Heads of one chain end with the same round, and no other chain of ours does.
bool Lottery::is_of_our_chain(const protocol::HashChainHead& head) const {
  return head.owner == address_ && head.rounds == chain_->head().rounds;
}

void Lottery::find_heads() {
  heads_ = {chain_->head()};
  for (const auto& [key, row] : deps_.bank.state().hash_chains.rows()) {
    if (is_of_our_chain(row.head) && row.head != heads_[0]) heads_.push_back(row.head);
  }
}

Lottery::Pairing* Lottery::load(const core::Digest& id) {
  if (const auto found = pairings_.find(id); found != pairings_.end()) return &found->second;
  const ledger::State& state = deps_.bank.state();
  const ledger::BeaconRow* const row = state.beacons.find(id);
  if (row == nullptr) return nullptr;
  const ledger::HashChainRow* const own = state.hash_chains.find(row->gateway);
  const ledger::HashChainRow* const other = state.hash_chains.find(row->provider);
  if (own == nullptr || other == nullptr || !is_of_our_chain(own->head)) return nullptr;
  const crypto::Address& provider = other->head.owner;
  chains_[provider].all.insert(id);
  const beacon::HashChainTracker ours(own->head, chain_->round(), chain_->value());
  const beacon::HashChainTracker theirs(other->head, other->round, other->value);
  return &pairings_.emplace(id, Pairing{provider, beacon::TwoPartyBeacon(ours, theirs)})
              .first->second;
}

const Lottery::Pairing* Lottery::pairing_with(const crypto::Address& provider) const {
  const auto found = chains_.find(provider);
  if (found == chains_.end() || !found->second.shown) return nullptr;
  return &pairings_.at(*found->second.shown);
}

const Roster::Peer* Lottery::peer_there(const crypto::Address& provider) const {
  const auto found = deps_.roster.peers().find(provider);
  const bool is_there = found != deps_.roster.peers().end() && found->second.stream != nullptr;
  return is_there ? &found->second : nullptr;
}

/// By this chain, that is.
bool Lottery::is_there(const Pairing& pairing) const {
  return pairing_with(pairing.provider) == &pairing && peer_there(pairing.provider) != nullptr;
}

Result<void> Lottery::check_chain(const crypto::Address& provider,
                                  const std::optional<rpc::HashChainPosition>& chain) const {
  if (!is_on()) return {};
  if (!chain || chain->head.owner != provider) {
    return fail(ErrorCode::kInvalidArgument,
                "the provider shows no hash chain of its own: answers earn tickets here");
  }
  // Not for want of room here, so that it is told why and does not dial on.
  const auto room = ledger::room_for_hash_chain(deps_.bank.state(), chain->head);
  if (!room) return fail(ErrorCode::kFailedPrecondition, "{}", room.error().message);
  return protocol::verify_hash_chain_head(chain->head);
}

Result<void> Lottery::meet(const crypto::Address& provider,
                           const std::optional<rpc::HashChainPosition>& chain) {
  if (!is_on()) return {};
  if (deps_.bank.state().beacons.find(beacon_with(chain->head)) != nullptr || has_stake(provider)) {
    return take_up(provider, *chain);
  }
  if (const auto known = chains_.find(provider); known != chains_.end()) {
    known->second.shown.reset();
  }
  if (waiting_.size() >= static_cast<std::size_t>(limits::kProvidersMax)) {
    std::erase_if(waiting_, [this](const auto& one) { return peer_there(one.first) == nullptr; });
  }
  waiting_.insert_or_assign(provider, *chain);
  return {};
}

bool Lottery::has_stake(const crypto::Address& provider) const {
  return deps_.bank.state().balance(provider, AccountKind::kStake) >= config_.stake_min;
}

Result<void> Lottery::on_stake(const crypto::Address& provider) {
  const auto found = waiting_.find(provider);
  if (found == waiting_.end() || !has_stake(provider)) return {};
  const rpc::HashChainPosition chain = found->second;
  waiting_.erase(found);
  return take_up(provider, chain);
}

/// Who has agreed on a head of our chain stays with it.
core::Digest Lottery::beacon_with(const protocol::HashChainHead& provider) const {
  for (const protocol::HashChainHead& head : heads_) {
    const core::Digest id = protocol::beacon_id(head, provider);
    if (deps_.bank.state().beacons.find(id) != nullptr) return id;
  }
  return protocol::beacon_id(chain_->head(), provider);
}

Result<void> Lottery::take_up(const crypto::Address& provider,
                              const rpc::HashChainPosition& chain) {
  const core::Digest id = beacon_with(chain.head);
  Pairing* pairing = load(id);
  if (pairing == nullptr) {
    COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
      COMMENSAL_TRY(deps_.bank.submit(ledger::RegisterBeacon{chain_->head(), chain.head}));
      return {};
    }));
    pairing = load(id);
  }
  chains_[provider].shown = id;
  if (chain.round > chain.head.first) on_reveal(provider, {chain.round, chain.value});
  // Nobody has told it of the rounds that were closed since it was challenged.
  if (shown_->round > chain.round) {
    deps_.roster.tell(provider, rpc::Reveal{shown_->round, shown_->value});
  }
  return {};
}

std::string Lottery::reservation(const crypto::Address& provider) const {
  if (!is_on()) return "";
  const Amount stake = deps_.bank.state().balance(provider, AccountKind::kStake);
  if (stake < config_.stake_min) {
    return fmt::format("has a stake of {}, {} are wanted", to_text(stake),
                       to_text(config_.stake_min));
  }
  const auto chains = chains_.find(provider);
  if (chains == chains_.end() || !chains->second.shown) return "has shown no hash chain";
  std::size_t undecided = 0;
  for (const core::Digest& id : chains->second.all) undecided += deps_.tickets.awaited(id);
  const std::size_t most = std::max(config_.tickets_max / limits::kTicketShares, kUndecidedMin);
  if (undecided < most) return also_ ? also_(provider) : "";
  return fmt::format("has {} tickets on which nothing is decided, at most {} may be", undecided,
                     most);
}

Result<void> Lottery::cover() const {
  if (!is_on()) return {};
  if (!deps_.tickets.room_for(1)) {
    return fail(ErrorCode::kUnavailable, "the gateway keeps {} tickets, as many as it may",
                deps_.tickets.size());
  }
  // Winners are binomial: six deviations beyond the mean once in a thousand million.
  const double n = static_cast<double>(deps_.tickets.awaited() + 1), p = config_.win_probability;
  const double most = std::min(n, std::ceil(n * p + 6 * std::sqrt(n * p * (1 - p)) + 1));
  COMMENSAL_ASSIGN(const Amount each, config_.face_value.plus(config_.rules.auditor_fee));
  COMMENSAL_ASSIGN(const Amount needed, each.times(Amount(static_cast<std::uint64_t>(most))));
  const Amount escrow = deps_.bank.state().balance(address_, AccountKind::kEscrow);
  if (escrow >= needed) return {};
  return fail(
      ErrorCode::kUnavailable,
      "the gateway's escrow of {} does not cover {}, what its tickets may win: the operator "
      "must fund it",
      to_text(escrow), to_text(needed));
}

void Lottery::stamp(protocol::Job& job) const {
  const Pairing* const pairing = pairing_with(job.provider);
  if (!is_on() || pairing == nullptr) return;
  job.face_value = config_.face_value;
  job.win_threshold = threshold_;
  job.beacons = {pairing->beacon.id()};
  // As long as a stake that is announced now stays locked, but for what an audit takes.
  const std::uint64_t locked_ms = config_.rules.withdrawal_delay_ms;
  const std::uint64_t audit_ms = std::min(config_.rules.audit_delay_ms, locked_ms / 2);
  const auto now_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(deps_.clock.wall_ms(), 0));
  job.valid_until_ms = locked_ms == 0 ? 0 : now_ms + (locked_ms - audit_ms);
}

Result<void> Lottery::check_round(const protocol::Job& job, std::uint64_t round) const {
  if (job.beacons.empty()) {
    if (round == protocol::kNoDraw) return {};
    return fail(ErrorCode::kInvalidArgument, "round {} of no beacon", round);
  }
  const std::uint64_t first = chain_->round() + 1;
  const std::uint64_t last = first + ticket::Deadlines{}.ahead_rounds_max;
  if (round >= first && round <= last) return {};
  return fail(ErrorCode::kFailedPrecondition, "round {} for a ticket, expected {} to {}", round,
              first, last);
}

Result<void> Lottery::owe(std::span<const protocol::Receipt> receipts) {
  std::vector<ticket::NewTicket> tickets;
  std::vector<protocol::Receipt> drawn;
  for (const protocol::Receipt& receipt : receipts) {
    if (receipt.round == protocol::kNoDraw) continue;
    tickets.push_back({receipt, {}, {}});
    drawn.push_back(receipt);
  }
  if (tickets.empty()) return {};
  return deps_.bank.durably([&]() -> Result<void> {
    COMMENSAL_TRY(deps_.tickets.commit(tickets, chain_->round() + 1));
    return deps_.tickets.countersign(drawn);
  });
}

std::size_t Lottery::pending() const {
  std::size_t count = 0;
  for (const auto& [id, pairing] : pairings_) {
    if (is_there(pairing)) count += deps_.tickets.awaited(id);
  }
  return count;
}

void Lottery::tick() {
  if (!is_on()) return;
  deps_.events.report(lapse());
  if (!deps_.tickets.has(State::kCountersigned) || waits_for_reveals()) return;
  const auto closed = close_round();
  deps_.events.report(closed);
  if (!closed) return;
  for (const auto& [id, pairing] : pairings_) deps_.events.report(look_after(pairing));
  forget_idle();
}

/// Who has work in hand makes tickets of rounds by the last reveal that it has heard of, and we
/// know which that is by its own.
bool Lottery::waits_for_reveals() {
  const std::int64_t now_ms = deps_.clock.monotonic_ns() / 1'000'000;
  bool waits = false;
  for (auto& [id, pairing] : pairings_) {
    if (pairing.beacon.drawn_round() >= pairing.beacon.closed_round()) pairing.is_slow = false;
    const Roster::Peer* const peer = is_there(pairing) ? peer_there(pairing.provider) : nullptr;
    const bool is_behind = pairing.beacon.drawn_round() < pairing.beacon.closed_round();
    if (peer == nullptr || peer->in_flight == 0 || !is_behind || pairing.is_slow) continue;
    pairing.is_slow = now_ms - closed_ms_ >= kRevealWaitMs;
    waits = waits || !pairing.is_slow;
  }
  return waits;
}

Result<void> Lottery::close_round() {
  rpc::Reveal reveal{chain_->round() + 1, {}};
  COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(reveal.value, chain_->reveal(reveal.round));
    for (auto& [id, pairing] : pairings_) {
      COMMENSAL_TRY(pairing.beacon.on_gateway_reveal(reveal.round, reveal.value));
      COMMENSAL_TRY(deps_.tickets.close(id, reveal.round));
    }
    std::set<core::Digest> heads;
    for (const auto& [id, pairing] : pairings_) {
      heads.insert(ledger::hash_chain_key(pairing.beacon.gateway().head()));
    }
    for (const core::Digest& head : heads) {
      COMMENSAL_TRY(deps_.bank.submit(ledger::Reveal{head, reveal.round, reveal.value}));
    }
    if (reveal.round - chain_->head().first < config_.head_rounds_max) return {};
    return chain_->anchor_at(reveal.round);
  }));
  if (chain_->head() != heads_[0]) heads_.insert(heads_.begin(), chain_->head());
  closed_ms_ = deps_.clock.monotonic_ns() / 1'000'000;
  show_chain();
  for (const auto& [provider, chains] : chains_) {
    if (chains.shown) deps_.roster.tell(provider, reveal);
  }
  return {};
}

void Lottery::on_reveal(const crypto::Address& provider, const rpc::Reveal& reveal) {
  const auto chains = chains_.find(provider);
  if (chains == chains_.end() || !chains->second.shown) return;
  deps_.events.report(draw(pairings_.at(*chains->second.shown), reveal));
}

Result<void> Lottery::draw(Pairing& pairing, const rpc::Reveal& reveal) {
  beacon::TwoPartyBeacon& beacon = pairing.beacon;
  if (reveal.round <= beacon.drawn_round() || pairing.wrong >= kWrongMax) return {};
  const auto fits = beacon.on_provider_reveal(reveal.round, reveal.value);
  pairing.wrong = fits ? 0 : pairing.wrong + 1;
  COMMENSAL_TRY(fits);
  return deps_.bank.durably([&]() -> Result<void> {
    const core::Digest chain = ledger::hash_chain_key(beacon.provider().head());
    COMMENSAL_TRY(deps_.bank.submit(ledger::Reveal{chain, reveal.round, reveal.value}));
    COMMENSAL_TRY(deps_.tickets.draw(beacon));
    return {};
  });
}

/// Of who is gone nothing is acknowledged any more: its settled tickets go by our own rounds.
Result<void> Lottery::look_after(const Pairing& pairing) {
  COMMENSAL_TRY(punish_withholding(pairing));
  const beacon::TwoPartyBeacon& beacon = pairing.beacon;
  const std::uint64_t round = is_there(pairing) ? beacon.drawn_round() : beacon.closed_round();
  COMMENSAL_TRY(deps_.tickets.prune(beacon.id(), round));
  return {};
}

/// A provider that is there and does not draw a closed round is asked through the ledger, where
/// everybody can see it; if that does not help either, it pays for its silence, once for a round.
Result<void> Lottery::punish_withholding(const Pairing& pairing) {
  const core::Digest& id = pairing.beacon.id();
  const auto late = deps_.tickets.overdue(id, Event::kWithhold, pairing.beacon.closed_round(), 1);
  if (late.empty()) return {};
  const std::uint64_t round = deps_.tickets.find(late[0].ticket)->body.round;
  const core::Digest chain = ledger::hash_chain_key(pairing.beacon.provider().head());
  const auto* until = deps_.bank.state().demands.find({chain, round});
  const bool is_over =
      until != nullptr && static_cast<std::uint64_t>(deps_.clock.wall_ms()) > *until;
  if (until != nullptr ? !is_over : !is_there(pairing)) return {};
  COMMENSAL_ASSIGN(const protocol::Receipt receipt, deps_.tickets.receipt(late[0].ticket));
  return deps_.bank.durably([&]() -> Result<void> {
    if (!is_over) {
      COMMENSAL_TRY(deps_.bank.submit(ledger::Demand{receipt}));
      return {};
    }
    COMMENSAL_TRY(deps_.bank.submit(ledger::Default{receipt, {}}));
    COMMENSAL_TRY(deps_.tickets.move(late));
    return deps_.tickets.lapse_undrawn(id, round);
  });
}

/// What was committed to long ago, if it could be gone on with lately.
Result<void> Lottery::lapse() {
  const std::int64_t now_ms = deps_.clock.wall_ms();
  if (now_ms < opened_ms_ + std::min(config_.lapse_ms, kGraceMs)) return {};
  COMMENSAL_TRY(
      deps_.tickets.lapse(static_cast<std::uint64_t>(std::max(now_ms - config_.lapse_ms, {}))));
  return {};
}

void Lottery::forget_idle() {
  for (auto at = pairings_.begin(); at != pairings_.end();) {
    const auto& [id, pairing] = *at;
    const auto chains = chains_.find(pairing.provider);
    const bool is_shown = chains->second.shown == id;
    const bool is_idle = !deps_.tickets.tallies().contains(id) && pairing.wrong == 0;
    if (!is_idle || (is_shown && peer_there(pairing.provider) != nullptr)) {
      ++at;
      continue;
    }
    chains->second.all.erase(id);
    if (is_shown) chains->second.shown.reset();
    if (chains->second.all.empty()) chains_.erase(chains);
    at = pairings_.erase(at);
  }
}

}  // namespace commensal::gateway
