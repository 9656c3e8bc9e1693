// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/rpc/messages.hpp>
#include <commensal/trade/pay/beacon/kept_chain.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <functional>
#include <map>

namespace commensal::gateway {

/// What a verdict on a winner led to.
struct Judgement {
  ticket::Event event = ticket::Event::kPay;  // or kPenalise, kSlash
  protocol::Amount taken;                     // from the provider's stake
  protocol::Amount burnt;                     // of that
  protocol::Amount bounty;                    // of that, the auditor's
};

/// The gateway's side of the tickets: its hash chain, a beacon with each provider, rounds, draws,
/// claims and what the ledger says of them. Where face_value is 0 it does nothing.
/// A ticket is on disk before it is countersigned; a round's reveal before it is sent.
/// Thread-safety: one thread, the store's.
class Lottery {
 public:
  struct World {
    store::JointStore& store;
    const core::Clock& clock;
    core::Rng& rng;
    const crypto::SecretKey& key;
    Bank& bank;
    /// To a provider, if it is there.
    std::function<void(const crypto::Address&, rpc::ToProvider)> send;
    std::function<bool(const crypto::Address&)> is_there;
    std::function<bool(const core::Digest& receipt)> was_delivered;
    /// A winner is open, and its answer was delivered: it has to be audited.
    std::function<core::Result<void>(const core::Digest& receipt)> audit;
    /// It has waited for its audit: from what was delivered, without its provider.
    std::function<core::Result<void>(const core::Digest& receipt)> audit_alone;
    std::function<void(const core::Error&)> report;
  };

  Lottery(World world, const MoneyConfig& config);

  bool is_on() const { return config_.face_value != protocol::Amount(); }
  /// Reads the state; makes a hash chain at the first start. Errors: kDataLoss, kInvalidArgument.
  core::Result<void> open();

  /// Of our hash chain, as far as it is on disk; nothing where answers earn no tickets.
  const std::optional<rpc::ChainPosition>& position() const { return shown_; }
  /// Takes up the provider's chain where it is. Errors: kInvalidArgument, kUnauthenticated.
  core::Result<void> meet(const crypto::Address& provider,
                          const std::optional<rpc::ChainPosition>& chain);
  /// Why a provider gets no work, or "".
  std::string reservation(const crypto::Address& provider) const;
  /// Whether the escrow covers what the tickets under way may win, and one more.
  core::Result<void> cover() const;

  void stamp(protocol::Job& job) const;
  /// Error: kFailedPrecondition for a round that is closed.
  core::Result<void> check_round(const protocol::Job& job, std::uint64_t round) const;
  /// These tickets are owed from now on. Durable when it returns.
  core::Result<void> owe(std::span<const protocol::Receipt> receipts);

  /// Closes a round, if tickets wait for one; looks for deadlines that have passed: of providers,
  /// and of verdicts.
  void tick();
  void on_reveal(const crypto::Address& provider, const rpc::Reveal& reveal);
  void on_claims(const crypto::Address& provider, const rpc::Claims& claims);
  /// Nothing where the receipt is no open winner.
  core::Result<std::optional<Judgement>> judge(const protocol::Receipt& receipt,
                                               const protocol::Verdict& verdict);

  /// The provider's Default may have been booked: what it has to be told, once all is durable.
  core::Result<std::optional<rpc::Outcomes::Item>> on_default(const protocol::Receipt& receipt);

  const ticket::TicketBook& tickets() const { return tickets_; }
  /// Tickets of providers that are there and on which nothing is decided.
  std::size_t pending() const;

 private:
  using Beacons = std::map<crypto::Address, beacon::TwoPartyBeacon>;

  void show_chain() { shown_ = {chain_->head(), chain_->round(), chain_->value()}; }
  core::Result<void> load_beacons();
  core::Result<void> close_round();
  core::Result<void> draw(const crypto::Address& provider, const rpc::Reveal& reveal);
  core::Result<void> open_winner(const beacon::TwoPartyBeacon& beacon,
                                 const rpc::Claims::Item& item);
  core::Result<Judgement> settle(const core::Digest& ticket, const ledger::Entry& entry);
  void look_at_winners();
  core::Result<void> mature(const core::Digest& ticket, const ledger::ClaimRow& claim);
  core::Result<void> punish_silence(const crypto::Address& provider);
  core::Result<void> punish_withholding(const crypto::Address& provider);

  World world_;
  const MoneyConfig config_;
  const crypto::Address address_;
  core::Digest threshold_{};
  ticket::TicketBook tickets_;
  std::optional<beacon::KeptChain> chain_;  // after open()
  std::optional<rpc::ChainPosition> shown_;
  Beacons beacons_;
  std::uint64_t next_look_ms_ = 0;  // no open winner is due before
};

}  // namespace commensal::gateway
