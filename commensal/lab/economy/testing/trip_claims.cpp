// SPDX-License-Identifier: Apache-2.0
// From the draw to the money.
#include <commensal/lab/economy/testing/follow.hpp>
#include <commensal/lab/economy/testing/rules.hpp>
#include <commensal/lab/economy/testing/trip.hpp>

namespace commensal::economy::testing {

using ticket::Event;
using ticket::Record;
using ticket::State;

namespace {

// What becomes of a ticket, by two bytes of its name.
bool is_kept_silent(const Digest& ticket) { return ticket[0] % 2 == 1; }
bool is_never_judged(const Digest& ticket) { return ticket[1] < 26; }  // one in ten

/// Of those that are open a verdict comes on so many in a round.
constexpr std::uint64_t kJudgedOneIn = 2;

constexpr State kAwaiting[] = {State::kCountersigned, State::kDrawn, State::kWon, State::kOpened,
                               State::kAudited};

}  // namespace

Result<void> Trip::open() {
  for (Link& link : links_) {
    if (!link.provider.is_there()) continue;
    for (const Record& record : link.provider.tickets().in(State::kWon)) {
      const Digest ticket = record.id();
      const bool silent = link.provider.manner() == Manner::kUnopening && is_kept_silent(ticket);
      if (record.beacon == link.beacon && !silent) COMMENSAL_TRY(open(link, ticket));
    }
  }
  return {};
}

Result<void> Trip::open(Link& link, const Digest& ticket) {
  const Record* const record = link.provider.tickets().find(ticket);
  COMMENSAL_ASSIGN(const protocol::Receipt receipt, link.provider.tickets().receipt(ticket));
  const beacon::TwoPartyBeacon drawn = beacon(link);
  protocol::Claim claim{receipt, {}, {}, record->output_root, record->output_salt};
  COMMENSAL_ASSIGN(claim.gateway_reveal, drawn.gateway().value_of(receipt.round));
  COMMENSAL_ASSIGN(claim.provider_reveal, drawn.provider().value_of(receipt.round));
  return gateway_.act([&]() -> Result<void> {
    if (gateway_.state().claims.find(ticket) != nullptr) return {};
    COMMENSAL_TRY(gateway_.submit(ledger::Open{claim, {}}));
    return follow(gateway_.tickets(), ticket, *outcome_of(gateway_, ticket));
  });
}

Result<void> Trip::judge() {
  for (const Record& record : gateway_.tickets().in(State::kOpened)) {
    const Digest ticket = record.id();
    const ledger::ClaimRow claim = *gateway_.state().claims.find(ticket);
    const auto now_ms = static_cast<std::uint64_t>(world_.clock.wall_ms());
    const bool matures = now_ms >= claim.mature_ms;
    if (!matures && (is_never_judged(ticket) || !world_.one_in(kJudgedOneIn))) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, gateway_.tickets().receipt(ticket));
    ledger::Body body = ledger::Mature{ticket};
    if (!matures) body = gateway_.verdict(receipt, !world_.wrong.contains(ticket));
    COMMENSAL_TRY(gateway_.act([&]() -> Result<void> {
      if (gateway_.state().claims.find(ticket)->status != ledger::ClaimStatus::kOpen) return {};
      COMMENSAL_TRY(gateway_.submit(body));
      return follow(gateway_.tickets(), ticket, *outcome_of(gateway_, ticket));
    }));
  }
  return {};
}

Result<void> Trip::punish() {
  for (Link& link : links_) {
    COMMENSAL_TRY(silence(link));
    if (link.provider.is_there()) COMMENSAL_TRY(chase_gateway(link));
  }
  for (const Record& record : gateway_.tickets().in(State::kDrawn)) {
    for (Link& link : links_) {
      if (link.beacon == record.beacon) COMMENSAL_TRY(chase_provider(link, record));
    }
  }
  return {};
}

Result<void> Trip::silence(Link& link) {
  for (const ticket::Move& move : gateway_.tickets().overdue(link.beacon, row(link.head).round)) {
    if (move.event != Event::kSilence) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, gateway_.tickets().receipt(move.ticket));
    COMMENSAL_TRY(gateway_.act([&]() -> Result<void> {
      if (gateway_.state().claims.find(move.ticket) != nullptr) return {};
      COMMENSAL_TRY(gateway_.submit(ledger::Silence{receipt}));
      return follow(gateway_.tickets(), move.ticket, *outcome_of(gateway_, move.ticket));
    }));
  }
  return {};
}

Result<void> Trip::chase(const Address& asker, const ledger::DemandKey& key,
                         const protocol::Receipt& receipt, bool may_ask) {
  const Digest ticket = protocol::ticket_id(receipt.body());
  return gateway_.act([&]() -> Result<void> {
    if (gateway_.state().claims.find(ticket) != nullptr) return {};
    const auto* const until_ms = gateway_.state().demands.find(key);
    if (until_ms == nullptr) {
      if (may_ask) COMMENSAL_TRY(gateway_.submit(asker, ledger::Demand{receipt}));
      return {};
    }
    if (static_cast<std::uint64_t>(world_.clock.wall_ms()) <= *until_ms) return {};
    COMMENSAL_TRY(gateway_.submit(asker, ledger::Default{receipt, {}}));
    return follow(gateway_.tickets(), ticket, *outcome_of(gateway_, ticket));
  });
}

Result<void> Trip::chase_provider(Link& link, const Record& record) {
  if (row(link.head).round >= record.body.round) return {};
  COMMENSAL_ASSIGN(const protocol::Receipt receipt, gateway_.tickets().receipt(record.id()));
  return chase(gateway_.address(), {ledger::chain_key(link.head), record.body.round}, receipt,
               link.provider.is_there());
}

Result<void> Trip::chase_gateway(Link& link) {
  for (const Record& record : link.provider.tickets().in(State::kCountersigned)) {
    const std::uint64_t round = record.body.round;
    if (record.beacon != link.beacon || row(gateway_.head()).round >= round) continue;
    COMMENSAL_ASSIGN(const protocol::Receipt receipt, link.provider.tickets().receipt(record.id()));
    COMMENSAL_TRY(
        chase(link.provider.address(), {ledger::chain_key(gateway_.head()), round}, receipt, true));
  }
  return {};
}

Result<void> Trip::report() {
  for (Link& link : links_) {
    if (!link.provider.is_there()) continue;
    COMMENSAL_TRY(link.provider.act([&]() -> Result<void> {
      for (const State state : kAwaiting) {
        for (const Record& record : link.provider.tickets().in(state)) {
          if (record.beacon != link.beacon) continue;
          const auto outcome = outcome_of(gateway_, record.id());
          if (!outcome) continue;
          COMMENSAL_TRY(follow(link.provider.tickets(), record.id(), *outcome));
        }
      }
      return {};
    }));
  }
  return {};
}

Result<void> Trip::prune() {
  for (Link& link : links_) {
    const std::uint64_t drawn = row(link.head).round;
    const auto drop = [&](Party& party) {
      return party.act([&]() -> Result<void> {
        COMMENSAL_TRY(party.tickets().prune(link.beacon, drawn));
        return {};
      });
    };
    COMMENSAL_TRY(drop(gateway_));
    if (link.provider.is_there()) COMMENSAL_TRY(drop(link.provider));
  }
  return {};
}

}  // namespace commensal::economy::testing
