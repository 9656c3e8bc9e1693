// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;
using ledger::AccountKind;
using protocol::Amount;

namespace {

constexpr std::string_view kHashChain = "hash_chain", kOwn = "own";
constexpr std::size_t kUndecidedMin = 64;  // of a provider, however small the book
constexpr std::uint64_t kLastPart = 32;    // of a chain; at a start another takes its place then

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
  for (const auto& [beacon, tally] : deps_.tickets.tallies()) {
    // A kill may have come between a reveal in the ledger and its draw.
    const Pairing* const pairing = load(beacon);
    if (pairing != nullptr) deps_.events.report(deps_.tickets.draw(pairing->beacon));
  }
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

/// What its provider is asked for in the ledger, first.
std::optional<std::uint64_t> Lottery::asked_round(const Pairing& pairing) const {
  const ledger::State& state = deps_.bank.state();
  const core::Digest& chain = state.beacons.find(pairing.beacon.id())->provider;
  const auto& demands = state.demands.rows();
  const auto found = demands.lower_bound({chain, 0});
  if (found == demands.end() || found->first.hash_chain != chain) return std::nullopt;
  return found->first.round;
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
  for (const core::Digest& id : chains->second.all) {
    undecided += deps_.tickets.awaited(id);
    // Another chain is no way around it, as long as it can still be drawn.
    const auto round = deps_.tickets.awaited(id) > 0 ? asked_round(pairings_.at(id)) : std::nullopt;
    if (round) return fmt::format("has not drawn round {}, as the ledger asks it to", *round);
  }
  if (may_owe_more(undecided)) return also_ ? also_(provider) : "";
  return fmt::format("has {} tickets on which nothing is decided, as many as one may have",
                     undecided);
}

/// Of one provider: nobody shall fill the book, or what the escrow covers, alone.
bool Lottery::may_owe_more(std::size_t undecided) const {
  constexpr std::size_t kAlways = 8;
  if (undecided >= std::max(config_.tickets_max / limits::kTicketShares, kUndecidedMin))
    return false;
  const auto twice =
      may_win(undecided + 1).and_then([](const Amount& one) { return one.plus(one); });
  const Amount escrow = deps_.bank.state().balance(address_, AccountKind::kEscrow);
  return undecided < kAlways || (twice && *twice <= escrow);
}

Result<Amount> Lottery::may_win(std::uint64_t tickets) const {
  return ticket::winners_cover(tickets, config_.win_probability, config_.face_value,
                               config_.rules.auditor_fee);
}

Result<void> Lottery::cover() const {
  if (!is_on()) return {};
  if (!deps_.tickets.room_for(1)) {
    return fail(ErrorCode::kUnavailable, "the gateway keeps {} tickets, as many as it may",
                deps_.tickets.size());
  }
  COMMENSAL_ASSIGN(const Amount needed, may_win(deps_.tickets.awaited() + 1));
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
  job.valid_until_ms = locked_ms == 0 ? 0 : now_ms() + (locked_ms - audit_ms());
}

std::uint64_t Lottery::audit_ms() const {
  return std::min(config_.rules.audit_delay_ms, config_.rules.withdrawal_delay_ms / 2);
}

std::uint64_t Lottery::now_ms() const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(deps_.clock.wall_ms(), 0));
}

bool Lottery::is_in_time(const protocol::Job& job) const {
  if (job.valid_until_ms == 0) return true;
  // Of a delay of minutes an audit has half, and the steps the other half of what is left.
  const std::uint64_t spare_ms = std::min(audit_ms(), config_.rules.withdrawal_delay_ms / 4);
  return now_ms() + spare_ms < job.valid_until_ms;
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

}  // namespace commensal::gateway
