// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/economy/testing/economy.hpp>
#include <commensal/lab/economy/testing/follow.hpp>
#include <commensal/lab/economy/testing/money.hpp>
#include <commensal/lab/economy/testing/rules.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>

namespace commensal::economy::testing {
namespace {

/// Of so many gateways or providers one is like that, in turn; the rest is honest.
constexpr Manner kGateways[] = {
    Manner::kHonest,      Manner::kCrashing, Manner::kHonest, Manner::kHonest, Manner::kHonest,
    Manner::kWithholding, Manner::kHonest,   Manner::kHonest, Manner::kHonest, Manner::kHonest};
constexpr Manner kProviders[] = {
    Manner::kHonest, Manner::kHonest,      Manner::kHonest, Manner::kCrashing,  Manner::kHonest,
    Manner::kHonest, Manner::kCrashing,    Manner::kHonest, Manner::kUnopening, Manner::kHonest,
    Manner::kHonest, Manner::kWithholding, Manner::kHonest, Manner::kHonest,    Manner::kCheating,
    Manner::kHonest, Manner::kAway,        Manner::kHonest, Manner::kHonest,    Manner::kHonest};

constexpr std::size_t kGatewaysOfOneMax = 3;
constexpr std::string_view kSpaces[] = {"tickets", "ticket-totals", "chain", "chains",
                                        ledger::kHeadSpace};

Result<void> add(crypto::Sha256& hash, core::Store& disk) {
  for (const std::string_view space : kSpaces) {
    hash.update(crypto::sha256(core::as_bytes(space)));
    COMMENSAL_TRY(disk.scan(space, {}, [&](core::ByteView key, core::ByteView value) {
      hash.update(crypto::sha256(key)).update(crypto::sha256(value));
      return true;
    }));
  }
  return {};
}

}  // namespace

Economy::Economy(std::uint64_t seed, const Plan& plan) : world_(seed), plan_(plan) {
  for (std::size_t i = 0; i < plan.gateways; ++i) {
    Gateway& made = gateways_.emplace_back(world_, kGateways[i % std::size(kGateways)]);
    offices_.push_back({i, {}, Inspector(made.disk(), world_.counts)});
  }
  for (std::size_t i = 0; i < plan.providers; ++i) {
    Provider& provider = providers_.emplace_back(world_, kProviders[i % std::size(kProviders)]);
    std::set<std::size_t> chosen;
    for (std::size_t left = 1 + world_.below(kGatewaysOfOneMax); left > 0; --left) {
      chosen.insert(world_.below(plan.gateways));
    }
    for (const std::size_t at : chosen) {
      const auto head = provider.meet(gateways_[at].head());
      offices_[at].links.push_back(
          {gateways_[at], provider, head, protocol::beacon_id(gateways_[at].head(), head)});
    }
  }
}

Result<void> Economy::run() {
  const auto at_round = [&](const Result<void>& done, std::size_t gateway) -> Result<void> {
    if (done) return {};
    return core::in_context(fmt::format("round {}, gateway {}", world_.round, gateway),
                            done.error());
  };
  for (Office& office : offices_) COMMENSAL_TRY(at_round(found(office), office.gateway));
  while (world_.round < plan_.rounds) {
    ++world_.round;
    ++world_.counts.rounds;
    world_.clock.advance_ms(static_cast<std::int64_t>(kRoundMs));
    for (Provider& provider : providers_) {
      const bool leaves = provider.manner() == Manner::kAway && provider.was_there();
      if (leaves && world_.one_in(12)) provider.go_away(1 + world_.below(4));
    }
    for (Office& office : offices_) COMMENSAL_TRY(at_round(round(office), office.gateway));
  }
  return {};
}

Result<void> Economy::found(Office& office) {
  Gateway& gateway = gateways_[office.gateway];
  COMMENSAL_TRY(gateway.found());
  for (const Link& link : office.links) {
    COMMENSAL_TRY(link.provider.act([] { return Result<void>{}; }));
    COMMENSAL_TRY(gateway.act([&]() -> Result<void> {
      if (gateway.state().beacons.find(link.beacon) != nullptr) return {};
      COMMENSAL_TRY(gateway.submit(ledger::RegisterBeacon{gateway.head(), link.head}));
      return {};
    }));
  }
  return {};
}

Result<void> Economy::round(Office& office) {
  Gateway& gateway = gateways_[office.gateway];
  Trip trip(world_, gateway, office.links);
  COMMENSAL_TRY(move_money(world_, gateway, office.links));
  // What was asked for a round ago is due; both books must know before the next reveal.
  COMMENSAL_TRY(trip.punish());
  COMMENSAL_TRY(trip.report());
  COMMENSAL_TRY(trip.work());
  COMMENSAL_TRY(trip.close());
  COMMENSAL_TRY(trip.draw());
  COMMENSAL_TRY(trip.open());
  COMMENSAL_TRY(trip.judge());
  COMMENSAL_TRY(trip.punish());
  COMMENSAL_TRY(trip.report());
  COMMENSAL_TRY(check(office));
  return trip.prune();
}

Result<void> Economy::check(Office& office) {
  Gateway& gateway = gateways_[office.gateway];
  COMMENSAL_TRY(office.inspector.inspect(gateway.state()));
  for (Link& link : office.links) {
    std::vector<Digest> left;
    for (const Digest& ticket : link.watched) {
      const ticket::Record* const here = gateway.tickets().find(ticket);
      const ticket::Record* const there = link.provider.tickets().find(ticket);
      COMMENSAL_TRY(
          expect_agreement(here, there, outcome_of(gateway, ticket), link.provider.is_there()));
      const bool over = ticket::is_settled(here->state) && here->state == there->state;
      if (!over) left.push_back(ticket);
    }
    link.watched = std::move(left);
  }
  return {};
}

Result<Digest> Economy::digest() {
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal/economy/v1");
  for (Gateway& gateway : gateways_) {
    hash.update(ledger::state_digest(gateway.state()));
    COMMENSAL_TRY(add(hash, gateway.disk()));
  }
  for (Provider& provider : providers_) COMMENSAL_TRY(add(hash, provider.disk()));
  return hash.finish();
}

Result<void> Economy::verify() {
  for (Gateway& gateway : gateways_) {
    COMMENSAL_ASSIGN(const auto verified, ledger::verify(gateway.disk(), world_.signatures));
    if (verified.digest == ledger::state_digest(gateway.state())) continue;
    return core::fail(core::ErrorCode::kInternal, "a journal adds up to another state");
  }
  return {};
}

}  // namespace commensal::economy::testing
