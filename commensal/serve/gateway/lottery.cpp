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
using ticket::State;

namespace {

constexpr std::string_view kChain = "chain", kOwn = "own";

}  // namespace

Lottery::Lottery(World world, const MoneyConfig& config)
    : world_(std::move(world)),
      config_(config),
      address_(world_.key.address()),
      tickets_(world_.store, world_.clock,
               {.deadlines = {.opening_rounds_max = config.rules.opening_rounds}}) {}

Result<void> Lottery::open() {
  if (!is_on()) return {};
  COMMENSAL_ASSIGN(threshold_, ticket::threshold_of(config_.win_probability));
  COMMENSAL_TRY(tickets_.open());
  COMMENSAL_ASSIGN(auto chain, beacon::KeptChain::open(world_.store, std::string(kChain),
                                                       {kOwn.begin(), kOwn.end()}, world_.key,
                                                       world_.rng, config_.chain_depth));
  chain_.emplace(std::move(chain));
  show_chain();
  return load_beacons();
}

/// What the ledger knows of them is what counts.
Result<void> Lottery::load_beacons() {
  const ledger::State& state = world_.bank.state();
  for (const auto& [id, row] : state.beacons.rows()) {
    const ledger::ChainRow* const own = state.chains.find(row.gateway);
    const ledger::ChainRow* const other = state.chains.find(row.provider);
    if (own == nullptr || other == nullptr || own->head != chain_->head()) continue;
    beacons_.insert_or_assign(
        other->head.owner,
        beacon::TwoPartyBeacon(chain_->tracker(), {other->head, other->round, other->value}));
  }
  return {};
}

Result<void> Lottery::meet(const crypto::Address& provider,
                           const std::optional<rpc::ChainPosition>& chain) {
  if (!is_on()) return {};
  if (!chain || chain->head.owner != provider) {
    return fail(ErrorCode::kInvalidArgument,
                "the provider shows no hash chain of its own: answers earn tickets here");
  }
  COMMENSAL_TRY(protocol::verify_chain_head(chain->head));
  const core::Digest id = protocol::beacon_id(chain_->head(), chain->head);
  const auto known = beacons_.find(provider);
  if (known == beacons_.end() || known->second.id() != id) {
    if (world_.bank.state().beacons.find(id) == nullptr) {
      COMMENSAL_TRY(world_.bank.durably([&]() -> Result<void> {
        COMMENSAL_TRY(world_.bank.submit(ledger::RegisterBeacon{chain_->head(), chain->head}));
        return {};
      }));
    }
    beacons_.insert_or_assign(
        provider, beacon::TwoPartyBeacon(chain_->tracker(), beacon::ChainTracker(chain->head)));
  }
  if (chain->round > 0) on_reveal(provider, {chain->round, chain->value});
  return {};
}

std::string Lottery::reservation(const crypto::Address& provider) const {
  if (!is_on()) return "";
  const Amount stake = world_.bank.state().balance(provider, AccountKind::kStake);
  if (stake < config_.stake_min) {
    return fmt::format("has a stake of {}, {} are wanted", to_text(stake),
                       to_text(config_.stake_min));
  }
  return beacons_.contains(provider) ? "" : "has shown no hash chain";
}

Result<void> Lottery::cover() const {
  if (!is_on()) return {};
  // Winners are binomial: six deviations beyond the mean once in a thousand million.
  const double n = static_cast<double>(tickets_.awaited() + 1), p = config_.win_probability;
  const double most = std::min(n, std::ceil(n * p + 6 * std::sqrt(n * p * (1 - p)) + 1));
  COMMENSAL_ASSIGN(const Amount each, config_.face_value.plus(config_.rules.auditor_fee));
  COMMENSAL_ASSIGN(const Amount needed, each.times(Amount(static_cast<std::uint64_t>(most))));
  const Amount escrow = world_.bank.state().balance(address_, AccountKind::kEscrow);
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
  return world_.bank.durably([&]() -> Result<void> {
    COMMENSAL_TRY(tickets_.commit(tickets, chain_->round() + 1));
    return tickets_.countersign(drawn);
  });
}

std::size_t Lottery::pending() const {
  std::set<core::Digest> there;
  for (const auto& [provider, beacon] : beacons_) {
    if (world_.is_there(provider)) there.insert(beacon.id());
  }
  std::size_t count = 0;
  for (const State state : {State::kCountersigned, State::kDrawn, State::kWon, State::kOpened}) {
    for (const ticket::Record& one : tickets_.in(state))
      count += there.contains(one.beacon) ? 1 : 0;
  }
  return count;
}

}  // namespace commensal::gateway
