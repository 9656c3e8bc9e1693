// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/trade/pay/ledger/book.hpp>
#include <functional>
#include <optional>
#include <string>

namespace commensal::gateway {

/// Money to try a gateway with, which nobody has paid for.
struct TestMoneyTerms {
  bool is_so = false;       // of all that is in the ledger: people are told
  bool is_granted = false;  // to who is new (TestMoney)
  protocol::Amount credit;  // of a new account
};

/// What answers cost and earn. All of it is off by default: nothing is paid for, no ticket drawn.
struct MoneyConfig {
  protocol::Amount price;           // of a request, out of its account
  protocol::Amount face_value;      // of a winning ticket; 0: answers earn no tickets
  double win_probability = 0.01;    // each winner is audited
  protocol::Amount stake_min;       // of a provider that is given work
  protocol::Amount escrow;          // kept at so much (Reserves); 0: left alone
  protocol::Amount penalty_escrow;  // likewise
  TestMoneyTerms test;
  std::int64_t round_ms = 1000;  // a round of the beacon is closed so often, while tickets wait
  int hash_chain_depth = 25;     // the hash chain has 2^depth rounds: more than a year
  // After so many rounds it is anchored anew, for who comes late.
  std::uint64_t head_rounds_max = limits::kRevealGapMax / 4;
  std::size_t tickets_max = limits::kTicketsMax;
  // What nobody goes on with for so long, its provider being gone, is void.
  std::int64_t lapse_ms = limits::kTicketLapseMs;
  std::uint64_t checkpoint_entries = limits::kCheckpointEntries;  // the journal keeps 1 to 2 of it
  ledger::Config rules;  // of a new ledger, whose operator is filled in; an old one has its own
};

/// The gateway's embedded ledger, and the gateway's own word in it: as operator, as payee, and for
/// consumers who have a token instead of a key.
/// What is submitted counts in memory at once and on disk after commit(), or with the store's hold;
/// nothing of it may be acknowledged before. Thread-safety: one thread, the store's.
class Bank {
 public:
  /// All must outlive this object.
  Bank(store::JointStore& store, const core::Clock& clock, const crypto::SecretKey& key,
       const ledger::Config& rules, std::uint64_t checkpoint_entries = limits::kCheckpointEntries)
      : store_(store),
        clock_(clock),
        key_(key),
        address_(key.address()),
        rules_(rules),
        checkpoint_entries_(checkpoint_entries) {}

  /// Founds the ledger at the first start. Error: kDataLoss.
  core::Result<void> open();

  const crypto::Address& address() const { return address_; }
  const ledger::State& state() const { return book_->state(); }
  const ledger::Arbiter& arbiter() const { return arbiter_; }
  /// Where the dispute of a case stands, or how it ended; nothing: there was none, or nobody knows.
  core::Result<std::optional<cases::Place>> place_of(const ledger::CaseKey& key);
  /// The key that the gateway audits with: fees and bounties go to an account of its own.
  crypto::SecretKey auditor_key() const { return derived_key("commensal/auditor/v1", ""); }
  /// Of an account of the gateway: what its token may spend.
  crypto::Address address_of(const std::string& account) const;

  /// As the operator. Errors: ledger::Ledger::apply's.
  core::Result<ledger::Entry> submit(ledger::Body body);
  /// Who hears of all that is booked, in memory yet.
  void heed(std::function<void(const ledger::Entry&)> heard) { heard_ = std::move(heard); }
  /// What somebody else signed. Errors: as above.
  core::Result<ledger::Entry> relay(const ledger::Transaction& transaction);
  /// Takes `amount` for a request from an account, free credit first. Errors: as submit.
  core::Result<void> debit(const std::string& account, const protocol::Amount& amount,
                           const crypto::Address& provider, const core::Digest& request);
  /// What an account has leaves the ledger. Errors: as submit.
  core::Result<void> withdraw(const std::string& account, const protocol::Amount& amount);
  /// Whether an account can pay `price` so many times over (debit()), also without `spare` of what
  /// it has available. Precondition: the price is not 0.
  bool can_pay(const std::string& account, const protocol::Amount& price, std::uint64_t times,
               const protocol::Amount& spare = {}) const;

  /// Where one is due, a Checkpoint too.
  core::Result<void> commit();
  /// Runs `change`, then writes what it submitted and what it applied to the store in one batch.
  /// Error: the first; what was submitted before it is written all the same.
  core::Result<void> durably(const std::function<core::Result<void>()>& change);

 private:
  /// Where the machine's clock was set back, the ledger's stands until it has caught up.
  std::int64_t now_ms() const;
  core::Result<ledger::Entry> stage(const crypto::SecretKey& key, ledger::Body body);
  core::Result<ledger::Entry> book(const ledger::Transaction& transaction);
  core::Result<ledger::Entry> book_move(const ledger::Transaction& transaction,
                                        const ledger::Argue& move);
  crypto::SecretKey derived_key(std::string_view use, std::string_view name) const;
  crypto::SecretKey key_of(const std::string& account) const {
    return derived_key("commensal/custody/v1", account);
  }

  store::JointStore& store_;
  const core::Clock& clock_;
  const crypto::SecretKey& key_;
  const crypto::Address address_;
  ledger::Config rules_;
  const std::uint64_t checkpoint_entries_;
  ledger::Signatures signatures_;
  const cases::LedgerArbiter arbiter_;
  std::function<void(const ledger::Entry&)> heard_;
  std::optional<ledger::Book> book_;
};

}  // namespace commensal::gateway
