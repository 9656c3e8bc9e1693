// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <set>

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
  COMMENSAL_ASSIGN(auto chain, beacon::StoredHashChain::open(deps_.store, std::string(kHashChain),
                                                             {kOwn.begin(), kOwn.end()}, deps_.key,
                                                             deps_.rng, config_.hash_chain_depth));
  chain_.emplace(std::move(chain));
  show_chain();
  return load_beacons();
}

/// What the ledger knows of them is what counts.
Result<void> Lottery::load_beacons() {
  const ledger::State& state = deps_.bank.state();
  for (const auto& [id, row] : state.beacons.rows()) {
    const ledger::HashChainRow* const own = state.hash_chains.find(row.gateway);
    const ledger::HashChainRow* const other = state.hash_chains.find(row.provider);
    if (own == nullptr || other == nullptr || own->head != chain_->head()) continue;
    beacons_.insert_or_assign(
        other->head.owner,
        beacon::TwoPartyBeacon(chain_->tracker(), {other->head, other->round, other->value}));
  }
  return {};
}

Result<void> Lottery::meet(const crypto::Address& provider,
                           const std::optional<rpc::HashChainPosition>& chain) {
  if (!is_on()) return {};
  if (!chain || chain->head.owner != provider) {
    return fail(ErrorCode::kInvalidArgument,
                "the provider shows no hash chain of its own: answers earn tickets here");
  }
  COMMENSAL_TRY(protocol::verify_hash_chain_head(chain->head));
  const core::Digest id = protocol::beacon_id(chain_->head(), chain->head);
  if (deps_.bank.state().beacons.find(id) != nullptr || has_stake(provider)) {
    return take_up(provider, *chain);
  }
  beacons_.erase(provider);
  if (waiting_.size() >= static_cast<std::size_t>(limits::kProvidersMax)) {
    std::erase_if(waiting_, [this](const auto& one) { return !is_there(one.first); });
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
  COMMENSAL_TRY(take_up(provider, chain));
  // Nobody has told it of the rounds that were closed meanwhile.
  if (shown_->round > chain.round) {
    deps_.roster.tell(provider, rpc::Reveal{shown_->round, shown_->value});
  }
  return {};
}

Result<void> Lottery::take_up(const crypto::Address& provider,
                              const rpc::HashChainPosition& chain) {
  const core::Digest id = protocol::beacon_id(chain_->head(), chain.head);
  const auto known = beacons_.find(provider);
  if (known == beacons_.end() || known->second.id() != id) {
    if (deps_.bank.state().beacons.find(id) == nullptr) {
      COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
        COMMENSAL_TRY(deps_.bank.submit(ledger::RegisterBeacon{chain_->head(), chain.head}));
        return {};
      }));
    }
    beacons_.insert_or_assign(
        provider, beacon::TwoPartyBeacon(chain_->tracker(), beacon::HashChainTracker(chain.head)));
  }
  if (chain.round > 0) on_reveal(provider, {chain.round, chain.value});
  return {};
}

std::string Lottery::reservation(const crypto::Address& provider) const {
  if (!is_on()) return "";
  const Amount stake = deps_.bank.state().balance(provider, AccountKind::kStake);
  if (stake < config_.stake_min) {
    return fmt::format("has a stake of {}, {} are wanted", to_text(stake),
                       to_text(config_.stake_min));
  }
  return beacons_.contains(provider) ? "" : "has shown no hash chain";
}

Result<void> Lottery::cover() const {
  if (!is_on()) return {};
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
  const auto beacon = beacons_.find(job.provider);
  if (!is_on() || beacon == beacons_.end()) return;
  job.face_value = config_.face_value;
  job.win_threshold = threshold_;
  job.beacons = {beacon->second.id()};
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
  std::set<core::Digest> there;
  for (const auto& [provider, beacon] : beacons_) {
    if (is_there(provider)) there.insert(beacon.id());
  }
  std::size_t count = 0;
  for (const State state : {State::kCountersigned, State::kDrawn, State::kWon, State::kOpened}) {
    for (const ticket::Record& one : deps_.tickets.in(state))
      count += there.contains(one.beacon) ? 1 : 0;
  }
  return count;
}

void Lottery::tick() {
  if (!is_on() || !deps_.tickets.has(State::kCountersigned)) return;
  const auto closed = close_round();
  deps_.events.report(closed);
  if (!closed) return;
  for (const auto& [provider, beacon] : beacons_) {
    deps_.events.report(punish_withholding(provider));
    deps_.events.report(deps_.tickets.prune(beacon.id(), beacon.drawn_round()));
  }
}

Result<void> Lottery::close_round() {
  rpc::Reveal reveal{chain_->round() + 1, {}};
  COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
    COMMENSAL_ASSIGN(reveal.value, chain_->reveal(reveal.round));
    for (auto& [provider, beacon] : beacons_) {
      COMMENSAL_TRY(beacon.on_gateway_reveal(reveal.round, reveal.value));
      COMMENSAL_TRY(deps_.tickets.close(beacon.id(), reveal.round));
    }
    if (beacons_.empty()) return {};
    COMMENSAL_TRY(deps_.bank.submit(
        ledger::Reveal{ledger::hash_chain_key(chain_->head()), reveal.round, reveal.value}));
    return {};
  }));
  show_chain();
  for (const auto& [provider, beacon] : beacons_) deps_.roster.tell(provider, reveal);
  return {};
}

void Lottery::on_reveal(const crypto::Address& provider, const rpc::Reveal& reveal) {
  deps_.events.report(draw(provider, reveal));
}

Result<void> Lottery::draw(const crypto::Address& provider, const rpc::Reveal& reveal) {
  const auto found = beacons_.find(provider);
  if (found == beacons_.end()) return {};
  beacon::TwoPartyBeacon& beacon = found->second;
  if (reveal.round <= beacon.drawn_round()) return {};
  COMMENSAL_TRY(beacon.on_provider_reveal(reveal.round, reveal.value));
  return deps_.bank.durably([&]() -> Result<void> {
    const core::Digest chain = ledger::hash_chain_key(beacon.provider().head());
    COMMENSAL_TRY(deps_.bank.submit(ledger::Reveal{chain, reveal.round, reveal.value}));
    COMMENSAL_TRY(deps_.tickets.draw(beacon));
    return {};
  });
}

/// A provider that is there and does not draw a closed round is asked through the ledger, where
/// everybody can see it; if that does not help either, it pays for its silence.
Result<void> Lottery::punish_withholding(const crypto::Address& provider) {
  const beacon::TwoPartyBeacon& beacon = beacons_.at(provider);
  if (beacon.drawn_round() + ticket::Deadlines{}.reveal_rounds_max > beacon.closed_round())
    return {};
  const core::Digest chain = ledger::hash_chain_key(beacon.provider().head());
  for (const ticket::Record& record : deps_.tickets.in(State::kDrawn)) {
    if (record.beacon != beacon.id()) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, deps_.tickets.receipt(record.id()));
    const auto* until = deps_.bank.state().demands.find({chain, record.body.round});
    const bool is_over =
        until != nullptr && static_cast<std::uint64_t>(deps_.clock.wall_ms()) > *until;
    if (until != nullptr ? !is_over : !is_there(provider)) continue;
    COMMENSAL_TRY(deps_.bank.durably([&]() -> Result<void> {
      if (!is_over) {
        COMMENSAL_TRY(deps_.bank.submit(ledger::Demand{receipt}));
        return {};
      }
      COMMENSAL_TRY(deps_.bank.submit(ledger::Default{receipt, {}}));
      const ticket::Move move{record.id(), Event::kWithhold, {}};
      return deps_.tickets.move({&move, 1});
    }));
  }
  return {};
}

}  // namespace commensal::gateway
