// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/provider/recourse.hpp>
#include <commensal/serve/provider/sales.hpp>
#include <commensal/serve/provider/unjudged.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/trade/pay/beacon/stored_hash_chain.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <deque>
#include <optional>

namespace commensal::provider {

/// What the provider asks for.
struct PurseConfig {
  protocol::Amount stake;    // locked as soon as the ledger has so much for us, or what it wants
  protocol::Amount pay_min;  // a ticket's value before the draw; cheaper work is refused
  std::int64_t reveal_ms_max = 600'000;  // a ticket that is not drawn for so long is demanded
  int hash_chain_depth = 25;  // the hash chain for a gateway has 2^depth rounds: more than a year
  std::size_t tickets_max = limits::kTicketsMax;
  bool accepts_uncovered = false;    // also work that the gateway's escrow may not be able to pay
  bool wants_penalty_cover = false;  // its penalty escrow too must cover what tickets may win
  std::uint32_t sell_pm =
      0;  // open winners are for sale at so many thousandths of their face value
};

/// The provider's side of the tickets: its hash chain for the gateway, the tickets it holds, what
/// it claims. A ticket is on disk before the commitment is sent, a reveal before it is shown.
/// Thread-safety: one thread, the store's.
class Purse {
 public:
  struct Dependencies {
    store::JointStore& store;
    const core::Clock& clock;
    core::Rng& rng;
    const crypto::SecretKey& key;
    rpc::GatewayClient& gateway;
  };

  Purse(const Dependencies& deps, const PurseConfig& config);

  /// Reads the tickets; call once before the rest. Error: kDataLoss.
  core::Result<void> open();

  /// The gateway's chain as it stands. Returns ours for it, made where there is none; nothing where
  /// the gateway has none. Errors: kInvalidArgument, kUnauthenticated, kDataLoss.
  core::Result<std::optional<rpc::HashChainPosition>> meet(
      const std::optional<rpc::HashChainPosition>& gateway);
  /// After the stream is up: what may not have arrived is said again.
  void resume();

  /// Errors: kFailedPrecondition (other terms than agreed on, or the gateway's escrow, by its last
  /// Balance, does not cover one ticket more), kResourceExhausted (no room).
  core::Result<void> accept(const protocol::Job& job) const;
  /// The round that a new ticket of this job takes part in; kNoDraw without a beacon.
  std::uint64_t round_for(const protocol::Job& job) const;
  /// Receipts with our signature. Durable when it returns (or with the store's hold).
  core::Result<void> commit(std::span<const ticket::NewTicket> tickets);
  core::Result<void> countersign(std::span<const protocol::Receipt> receipts);

  /// Error: the gateway's reveal does not fit.
  core::Result<void> on_reveal(const rpc::Reveal& reveal);
  core::Result<void> on_outcomes(const rpc::Outcomes& outcomes);
  /// Locks the stake that is wanted.
  void on_balance(const rpc::Balance& balance);
  /// Signs it with the next number and sends it, once those before it are answered; forgotten where
  /// the stream ends.
  void transact(ledger::Body body);
  /// From time to time, while the stream is up: takes steps against a gateway that does not draw,
  /// or does not judge, and offers what is for sale.
  void look();

  /// Whose chain was met last.
  const crypto::Address& gateway() const { return gateway_; }
  const ticket::TicketBook& tickets() const { return tickets_; }
  /// Tickets of the present gateway that are signed and not drawn.
  std::size_t undrawn() const;
  /// The latest that the gateway has said; nothing before.
  const std::optional<rpc::Balance>& balance() const { return balance_; }
  /// Winners that the gateway has neither paid nor refused in the ledger's time.
  std::size_t unjudged() const;

 private:
  core::Result<void> check_cover(const protocol::Job& job) const;
  core::Result<void> load_chain(const rpc::HashChainPosition& shown);
  core::Result<void> open_chain(const crypto::Address& gateway, std::uint64_t round);
  core::Result<beacon::HashChainTracker> load_closed(const rpc::HashChainPosition& shown);
  core::Result<void> keep_closed(const beacon::HashChainTracker& gateway);
  core::Result<void> forget();
  protocol::Amount stake_to_lock() const;
  void claim();
  void send_next();

  Dependencies deps_;
  const PurseConfig config_;
  ticket::TicketBook tickets_;
  Recourse recourse_;
  Unjudged unjudged_;
  Sales sales_;
  crypto::Address gateway_;
  std::optional<beacon::StoredHashChain> chain_;  // for gateway_
  std::optional<beacon::TwoPartyBeacon> beacon_;
  std::optional<rpc::Balance> balance_;
  bool under_way_ = false;            // a transaction, until a balance answers it
  std::deque<ledger::Body> waiting_;  // for that
};

}  // namespace commensal::provider
