// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <functional>

namespace commensal::serial {

/// The tickets of one rollout, in the books of both parties, and the beacon that draws them. Round
/// (i - 1) / steps_per_round + 1 is the one of step i, so that everything can be found again after
/// a crash; each call may be repeated. Thread-safety: one thread.
class RolloutTickets {
 public:
  struct Dependencies {
    core::Store& client_store;
    core::Store& provider_store;
    const core::Clock& clock;
    const crypto::SecretKey& client;
    const crypto::SecretKey& provider;
    core::Digest client_seed{};  // of the hash chains
    core::Digest provider_seed{};
    std::uint64_t steps_per_round = 1;
    std::uint64_t steps = 1;
  };
  explicit RolloutTickets(const Dependencies& deps);
  core::Result<void> open();

  core::Digest beacon_id() const { return beacon_.id(); }
  std::uint64_t round_of(std::uint64_t step) const {
    return (step - 1) / deps_.steps_per_round + 1;
  }

  core::Result<void> provider_commits(const ticket::NewTicket& ticket);
  /// The client signs a ticket that it has not seen before.
  core::Result<void> client_signs(const protocol::Receipt& receipt);
  core::Result<void> provider_countersigned(const protocol::Receipt& receipt);

  /// Closes and draws the rounds that end with step `step` or before, the last step's besides.
  /// Every winner is opened, then `is_right` audits its step, then it is paid or its provider
  /// slashed.
  core::Result<void> draw_up_to(std::uint64_t step,
                                const std::function<core::Result<bool>(std::uint64_t)>& is_right);

  const ticket::Totals& totals() const { return client_.totals(); }

 private:
  core::Result<void> settle(ticket::TicketBook& book, const core::Digest& ticket, bool is_right);

  Dependencies deps_;
  beacon::HashChain client_chain_, provider_chain_;
  beacon::TwoPartyBeacon beacon_;
  ticket::TicketBook client_, provider_;
  std::uint64_t settled_round_ = 0;  // nothing is left to do up to it
};

}  // namespace commensal::serial
