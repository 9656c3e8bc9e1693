// SPDX-License-Identifier: Apache-2.0
// From the answer to the draw.
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/economy/testing/rules.hpp>
#include <commensal/lab/economy/testing/trip.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::economy::testing {

using ledger::AccountKind;
using protocol::Role;

namespace {

/// One receipt in so many never reaches the gateway, and one answer of a cheat in so many is wrong.
constexpr std::uint64_t kLostOneIn = 100;
constexpr std::uint64_t kWrongOneIn = 5;
/// Who withholds does it once in so many rounds.
constexpr std::uint64_t kWithheldOneIn = 10;

const Digest& threshold() {
  static const Digest kThreshold = *ticket::threshold_of(kWinProbability);
  return kThreshold;
}

protocol::Job job_of(World& world, const Link& link) {
  protocol::Job job;
  job.graph_root = job.weight_root = Digest{1};
  job.input_commitment = world.rng.next_digest();
  job.client = link.gateway.address();
  job.provider = link.provider.address();
  job.face_value = Amount(kFace);
  job.win_threshold = threshold();
  job.beacons = {link.beacon};
  return job;
}

}  // namespace

const ledger::ChainRow& Trip::row(const protocol::ChainHead& head) const {
  return *gateway_.state().chains.find(ledger::chain_key(head));
}

beacon::TwoPartyBeacon Trip::beacon(const Link& link) const {
  const ledger::ChainRow &own = row(gateway_.head()), &other = row(link.head);
  return {{own.head, own.round, own.value}, {other.head, other.round, other.value}};
}

std::vector<Trip::Offer> Trip::offers(Link& link) {
  std::vector<Offer> made;
  std::vector<protocol::ReceiptBody> bodies;
  for (std::uint64_t left = 1 + world_.below(kTicketsMax); left > 0; --left) {
    protocol::Receipt receipt{job_of(world_, link), 1, {}, world_.round, {}, {}};
    const Digest root = world_.rng.next_digest(), salt = world_.rng.next_digest();
    receipt.commitment = protocol::commit_step(protocol::job_id(receipt.job), 1, root, salt);
    bodies.push_back(receipt.body());
    made.push_back({&link, protocol::ticket_id(bodies.back()), {std::move(receipt), root, salt}});
    const bool cheats = link.provider.manner() == Manner::kCheating;
    if (cheats && world_.one_in(kWrongOneIn)) world_.wrong.insert(made.back().ticket);
  }
  const auto signatures = protocol::sign_batch(link.provider.key(), Role::kProvider, bodies);
  for (std::size_t i = 0; i < made.size(); ++i) made[i].made.receipt.provider = signatures[i];
  return made;
}

Result<void> Trip::work() {
  std::vector<Offer> all;
  for (Link& link : links_) {
    const Amount stake = gateway_.balance(link.provider.address(), AccountKind::kStake);
    if (!link.provider.is_there() || stake < Amount(kStakeMin)) continue;
    if (!world_.one_in(kWorksOneIn)) continue;
    std::vector<Offer> made = offers(link);
    COMMENSAL_TRY(link.provider.act([&]() -> Result<void> {
      std::vector<ticket::NewTicket> fresh;
      for (const Offer& one : made) {
        if (link.provider.tickets().find(one.ticket) == nullptr) fresh.push_back(one.made);
      }
      return link.provider.tickets().commit(fresh, row(gateway_.head()).round + 1);
    }));
    if (world_.one_in(kLostOneIn)) {
      world_.counts.voided += made.size();
      continue;
    }
    for (Offer& one : made) all.push_back(std::move(one));
  }
  if (all.empty()) return {};
  COMMENSAL_TRY(owe(all));
  for (Link& link : links_) COMMENSAL_TRY(countersign(link, all));
  world_.counts.tickets += all.size();
  return {};
}

/// The gateway's signature, one for all; what consumers pay is booked with the tickets.
Result<void> Trip::owe(std::vector<Offer>& offers) {
  std::vector<protocol::ReceiptBody> bodies;
  for (const Offer& one : offers) bodies.push_back(one.made.receipt.body());
  const auto signatures = protocol::sign_batch(gateway_.key(), Role::kClient, bodies);
  for (std::size_t i = 0; i < offers.size(); ++i) offers[i].made.receipt.client = signatures[i];
  const Address payer = gateway_.consumers()[world_.below(gateway_.consumers().size())];
  return gateway_.act([&]() -> Result<void> {
    // All of them or none.
    if (gateway_.tickets().find(offers.front().ticket) != nullptr) return {};
    std::vector<ticket::NewTicket> fresh;
    std::vector<protocol::Receipt> receipts;
    for (const Offer& one : offers) {
      fresh.push_back(one.made);
      fresh.back().output_root = fresh.back().output_salt = {};  // not known to the gateway yet
      receipts.push_back(one.made.receipt);
    }
    const Amount price(kPrice * offers.size());
    const bool free = gateway_.balance(payer, AccountKind::kCredit) >= price;
    COMMENSAL_TRY(gateway_.submit(
        payer, ledger::Debit{payer, gateway_.address(),
                             free ? AccountKind::kCredit : AccountKind::kAvailable, price,
                             offers.front().link->provider.address(), bodies.front().job_id}));
    COMMENSAL_TRY(gateway_.tickets().commit(fresh, gateway_.chain().round() + 1));
    return gateway_.tickets().countersign(receipts);
  });
}

Result<void> Trip::countersign(Link& link, const std::vector<Offer>& offers) {
  std::vector<const Offer*> own;
  for (const Offer& one : offers) {
    if (one.link == &link) own.push_back(&one);
  }
  if (own.empty()) return {};
  COMMENSAL_TRY(link.provider.act([&]() -> Result<void> {
    std::vector<protocol::Receipt> receipts;
    for (const Offer* one : own) {
      const ticket::Record* const record = link.provider.tickets().find(one->ticket);
      const bool waits = record == nullptr || record->state == ticket::State::kCommitted;
      if (waits) receipts.push_back(one->made.receipt);
    }
    return link.provider.tickets().countersign(receipts);
  }));
  for (const Offer* one : own) link.watched.push_back(one->ticket);
  return {};
}

Result<void> Trip::close() {
  // Never two rounds in a row: the second would take the first one's tickets with it.
  const bool last_was_shown = row(gateway_.head()).round + 1 == world_.round;
  const bool withholds = gateway_.manner() == Manner::kWithholding;
  if (withholds && last_was_shown && world_.one_in(kWithheldOneIn)) return {};
  return gateway_.act([&]() -> Result<void> {
    if (gateway_.chain().round() >= world_.round) return {};
    COMMENSAL_ASSIGN(const Digest value, gateway_.chain().reveal(world_.round));
    COMMENSAL_TRY(gateway_.keep_chain());
    for (const Link& link : links_) {
      COMMENSAL_TRY(gateway_.tickets().close(link.beacon, world_.round));
    }
    COMMENSAL_TRY(
        gateway_.submit(ledger::Reveal{ledger::chain_key(gateway_.head()), world_.round, value}));
    return {};
  });
}

bool Trip::waits_for_draw(const Link& link) const {
  for (const ticket::State state : {ticket::State::kCountersigned, ticket::State::kDrawn}) {
    for (const ticket::Record& record : link.provider.tickets().in(state)) {
      if (record.beacon == link.beacon) return true;
    }
  }
  return false;
}

Result<void> Trip::draw() {
  for (Link& link : links_) {
    if (link.provider.is_there() && waits_for_draw(link)) COMMENSAL_TRY(draw(link));
  }
  return {};
}

Result<void> Trip::draw(Link& link) {
  Provider& provider = link.provider;
  const std::uint64_t closed = row(gateway_.head()).round;
  const std::uint64_t before = row(link.head).round;
  const bool withholds = provider.manner() == Manner::kWithholding && world_.one_in(kWithheldOneIn);
  Digest value{};
  COMMENSAL_TRY(provider.act([&]() -> Result<void> {
    COMMENSAL_TRY(provider.tickets().close(link.beacon, closed));
    if (withholds || closed == before) return {};
    COMMENSAL_ASSIGN(value, provider.chain(link.beacon).reveal(closed));
    COMMENSAL_TRY(provider.keep_chain(link.beacon));
    beacon::TwoPartyBeacon drawn = beacon(link);
    COMMENSAL_TRY(drawn.on_provider_reveal(closed, value));
    COMMENSAL_TRY(provider.tickets().draw(drawn));
    return {};
  }));
  if (withholds || closed == before) return {};
  return gateway_.act([&]() -> Result<void> {
    if (row(link.head).round >= closed) return {};
    COMMENSAL_TRY(gateway_.submit(ledger::Reveal{ledger::chain_key(link.head), closed, value}));
    beacon::TwoPartyBeacon drawn = beacon(link);
    COMMENSAL_TRY(gateway_.tickets().draw(drawn));
    return {};
  });
}

}  // namespace commensal::economy::testing
