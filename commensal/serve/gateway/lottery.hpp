// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/trade/pay/beacon/stored_hash_chain.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <map>
#include <set>

namespace commensal::gateway {

/// The gateway's side of the tickets until they are drawn: its hash chain, a beacon with each hash
/// chain of a provider, rounds and draws; Winners has the rest. Where face_value is 0 it does
/// nothing. A ticket is on disk before it is countersigned; a round's reveal before it is sent.
/// A round waits until who has work in hand has heard of the last one, so that no commitment is too
/// late for its own; at most kRevealWaitMs, and not for who took longer the last time.
/// Who has left, or come back with another chain, is asked for its reveal in the ledger as who is
/// there; what nobody draws is void after MoneyConfig::lapse_ms, and never before that was over.
/// Thread-safety: one thread, the store's.
class Lottery {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    store::JointStore& store;
    const core::Clock& clock;
    core::Rng& rng;
    const crypto::SecretKey& key;
    Bank& bank;
    const Roster& roster;
    EventQueue& events;  // event::Failed
    ticket::TicketBook& tickets;
  };

  Lottery(const Dependencies& deps, const MoneyConfig& config);
  /// Of the tickets that such a lottery is about.
  static ticket::BookConfig book_config(const MoneyConfig& config);

  bool is_on() const { return config_.face_value != protocol::Amount(); }
  /// Reads the state; makes a hash chain at the first start. Errors: kDataLoss, kInvalidArgument.
  core::Result<void> open();

  /// Of our hash chain, as far as it is on disk; nothing where answers earn no tickets.
  const std::optional<rpc::HashChainPosition>& position() const { return shown_; }
  /// Whether the chain is the provider's, and the ledger has room for it. Errors:
  /// kInvalidArgument, kUnauthenticated, kFailedPrecondition.
  core::Result<void> check_chain(const crypto::Address& provider,
                                 const std::optional<rpc::HashChainPosition>& chain) const;
  /// Takes up the chain, which check_chain lets pass, where it is; one that is new to the ledger
  /// only of who has its stake there, as keys and chains cost nothing. Errors: the ledger's.
  core::Result<void> meet(const crypto::Address& provider,
                          const std::optional<rpc::HashChainPosition>& chain);
  /// After what changed a provider's stake: takes up the chain that it has shown before.
  core::Result<void> on_stake(const crypto::Address& provider);
  /// What else speaks against a provider, or ""; set before the rest.
  void heed(std::function<std::string(const crypto::Address&)> also) { also_ = std::move(also); }
  /// Why a provider gets no work, or "".
  std::string reservation(const crypto::Address& provider) const;
  /// What so many tickets may win, with the auditors' fees. Error: kInvalidArgument.
  core::Result<protocol::Amount> may_win(std::uint64_t tickets) const;
  bool may_owe_more(std::size_t undecided) const;
  std::uint64_t audit_ms() const;
  std::uint64_t now_ms() const;  // by the wall's clock
  /// Whether the escrow covers what the tickets under way may win, and one more, and the book has
  /// room for it. Error: kUnavailable.
  core::Result<void> cover() const;

  void stamp(protocol::Job& job) const;
  /// Whether what begins now of this job can still be audited, and accused, in time.
  bool is_in_time(const protocol::Job& job) const;
  /// Error: kFailedPrecondition for a round that is closed.
  core::Result<void> check_round(const protocol::Job& job, std::uint64_t round) const;
  /// These tickets are owed from now on. Durable when it returns, or with the store's hold.
  core::Result<void> owe(std::span<const protocol::Receipt> receipts);

  /// Closes a round, if tickets wait for one, and looks for providers that let one pass.
  void tick();
  void on_reveal(const crypto::Address& provider, const rpc::Reveal& reveal);
  /// Some provider's reveal came to the ledger by another route.
  void on_revealed(const event::Revealed& event);
  /// What tickets with a provider are drawn by; of those that are there, or have left tickets.
  struct Pairing {
    crypto::Address provider;
    beacon::TwoPartyBeacon beacon;
    bool is_slow = false;  // no round waits for it
    int wrong = 0;         // reveals in a row that do not fit
  };
  using Pairings = std::map<core::Digest, Pairing>;  // by beacon
  const Pairings& pairings() const { return pairings_; }
  /// By the chain that it shows; null: it shows none.
  const Pairing* pairing_with(const crypto::Address& provider) const;
  const ticket::TicketBook& tickets() const { return deps_.tickets; }
  /// Tickets of providers that are there and on which nothing is decided.
  std::size_t pending() const;
  /// What is not drawn so long after its commitment is withheld, whoever is there.
  static constexpr std::int64_t kWithheldMs = 60'000;

 private:
  static constexpr std::int64_t kRevealWaitMs = 2'000;
  static constexpr std::int64_t kGraceMs = 3'600'000;  // after a start nothing lapses so long

  /// What is known of a provider's chains.
  struct Chains {
    std::optional<core::Digest> shown;  // the beacon by the one that it shows
    std::set<core::Digest> all;         // beacons
  };

  const Roster::Peer* peer_there(const crypto::Address& provider) const;
  bool is_there(const Pairing& pairing) const;
  void show_chain() { shown_ = {chain_->head(), chain_->round(), chain_->value()}; }
  /// What the ledger knows of a beacon is what counts. Null: nothing, or it is not of our chain.
  Pairing* load(const core::Digest& id);
  bool is_of_our_chain(const protocol::HashChainHead& head) const;
  void find_heads();
  core::Digest beacon_with(const protocol::HashChainHead& provider) const;
  bool has_stake(const crypto::Address& provider) const;
  core::Result<void> take_up(const crypto::Address& provider, const rpc::HashChainPosition& chain);
  bool waits_for_reveals();
  bool draws_auditors() const;
  core::Result<void> close_round();
  core::Result<void> draw(Pairing& pairing, const rpc::Reveal& reveal);
  core::Result<void> draw_by_ledger(Pairing& pairing);
  core::Result<void> prune(const Pairing& pairing);
  std::optional<std::uint64_t> asked_round(const Pairing& pairing) const;
  core::Result<void> punish_withholding(Pairing& pairing);
  std::int64_t lapse_ms() const;
  core::Result<void> lapse();
  void forget_idle();

  Dependencies deps_;
  const MoneyConfig config_;
  std::function<std::string(const crypto::Address&)> also_;
  const crypto::Address address_;
  core::Digest threshold_{};
  std::optional<beacon::StoredHashChain> chain_;  // after open()
  std::vector<protocol::HashChainHead> heads_;    // of our chain; the first is shown to who is new
  std::optional<rpc::HashChainPosition> shown_;
  Pairings pairings_;
  std::map<crypto::Address, Chains> chains_;
  std::int64_t opened_ms_ = 0;                                 // by the wall's clock
  std::int64_t closed_ms_ = 0;                                 // the last round, monotonic
  std::map<crypto::Address, rpc::HashChainPosition> waiting_;  // for their providers' stakes
};

}  // namespace commensal::gateway
