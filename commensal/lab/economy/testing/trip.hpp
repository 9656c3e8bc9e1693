// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/economy/testing/gateway.hpp>
#include <commensal/lab/economy/testing/provider.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>

namespace commensal::economy::testing {

/// A gateway and a provider that work together.
struct Link {
  Gateway& gateway;
  Provider& provider;
  protocol::ChainHead head;  // of the provider's chain for this gateway
  Digest beacon{};
  std::vector<Digest> watched{};  // tickets that both have acknowledged, until all agree it is over
};

/// What happens to the tickets of one gateway in a round: each function is a part of the trip, sees
/// by the books what is left to do, and may be repeated. Errors: something was refused that should
/// not have been. Thread-safety: one thread.
class Trip {
 public:
  Trip(World& world, Gateway& gateway, std::vector<Link>& links)
      : world_(world), gateway_(gateway), links_(links) {}

  /// Answers, their tickets, both signatures, the consumers' payments.
  Result<void> work();
  /// The gateway's reveal.
  Result<void> close();
  /// The providers' reveals; winners and losers.
  Result<void> draw();
  /// Winners are claimed; those of earlier rounds judged, or paid without a verdict.
  Result<void> open();
  Result<void> judge();
  /// What was not shown: winners, reveals.
  Result<void> punish();
  /// The providers' books learn what the ledger says.
  Result<void> report();
  Result<void> prune();

 private:
  struct Offer {
    Link* link;
    Digest ticket;
    ticket::NewTicket made;
  };

  std::vector<Offer> offers(Link& link);
  Result<void> owe(std::vector<Offer>& offers);
  Result<void> countersign(Link& link, const std::vector<Offer>& offers);
  bool waits_for_draw(const Link& link) const;
  Result<void> draw(Link& link);
  Result<void> open(Link& link, const Digest& ticket);
  Result<void> silence(Link& link);
  Result<void> chase_provider(Link& link, const ticket::Record& record);
  Result<void> chase_gateway(Link& link);
  /// Asks for a reveal; where it was asked for in vain, has its owner punished.
  Result<void> chase(const Address& asker, const ledger::DemandKey& key,
                     const protocol::Receipt& receipt, bool may_ask);
  beacon::TwoPartyBeacon beacon(const Link& link) const;
  const ledger::ChainRow& row(const protocol::ChainHead& head) const;

  World& world_;
  Gateway& gateway_;
  std::vector<Link>& links_;
};

}  // namespace commensal::economy::testing
