// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/lab/attack/attack.hpp>
#include <commensal/lab/attack/knowing_arbiter.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/ledger/ledger.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <deque>
#include <functional>

namespace commensal::attack {

using core::Digest;
using crypto::Address;
using protocol::Amount;

/// Somebody with a key and a hash chain.
struct Party {
  explicit Party(core::Rng& rng) : Party(rng, crypto::SecretKey::generate(rng)) {}
  Party(core::Rng& rng, crypto::SecretKey own);
  crypto::SecretKey key;
  Address address;
  beacon::HashChain chain;
  protocol::HashChainHead head;
};

/// What a provider makes of an input, and what that cost it.
struct Made {
  tensor::NamedTensors outputs;
  double cost = 0;
};
using Maker = std::function<Result<Made>(std::size_t number, const tensor::NamedTensors& input)>;

/// One answer and its ticket.
struct Work {
  Party* gateway = nullptr;
  Party* provider = nullptr;
  protocol::Receipt receipt;
  tensor::NamedTensors inputs;
  Digest input_salt{}, output_root{}, output_salt{};
  bool is_bad = false;  // other bits than the model's
  bool won = false;     // once drawn
  Digest id() const { return protocol::ticket_id(receipt.body()); }
};

/// What an accused does whose answer is wrong. It knows that it loses: all three end in the same.
enum class Plea : std::uint8_t {
  kConcede,
  kContest,  // in vain
  kSilence,  // convicts nobody: two auditors from outside do
};

/// A ledger with a gateway, a provider and an auditor on it who work for each other, on a simulated
/// clock: the real rules, receipts, chains, draws, audits and accusations, with real signatures.
/// Only what a dispute proves is known beforehand (KnowingArbiter). Thread-safety: one thread.
class Stand {
 public:
  struct Terms {
    double win = 0.5;
    std::uint64_t escrow = 0, penalty_escrow = 0, stake = 0;
    ledger::Config rules;
    const ledger::Arbiter* arbiter = nullptr;  // which outlives the stand; null: the knowing one
  };
  static Terms terms(double win);

  /// Founds the ledger; everybody has money and has locked what the terms say.
  static Result<std::unique_ptr<Stand>> open(Models& models, std::uint64_t seed,
                                             const Terms& terms);

  Models& models() { return models_; }
  core::Rng& rng() { return rng_; }
  const Party& book_keeper() const { return *operator_; }
  Party& gateway() { return *gateway_; }
  Party& provider() { return *provider_; }
  const Party& auditor() const { return *auditor_; }
  /// On the list of who may be drawn to report.
  const std::vector<Party*>& outsiders() const { return outsiders_; }
  std::int64_t now_ms() const { return clock_.wall_ms(); }
  void wait_ms(std::uint64_t ms) { clock_.advance_ms(static_cast<std::int64_t>(ms)); }
  /// A round of all beacons: the one that is open.
  std::uint64_t round() const { return round_; }
  const ledger::State& state() const { return ledger_->state(); }
  const ledger::Config& rules() const { return state().scalars.config; }
  Amount face() const { return face_; }

  Party& join();
  /// The same key with another hash chain.
  Party& join_again(const Party& who);
  Result<void> deposit(const Address& owner, const Amount& amount);
  Result<void> fund(const Party& who, ledger::AccountKind into, std::uint64_t amount);
  /// With a bond's money of its own: it may have to accuse.
  Result<void> admit(const Party& auditor);
  /// Draws tickets between these two from now on.
  Result<void> pair(const Party& gateway, const Party& provider);
  Result<ledger::Entry> send(const Party& sender, ledger::Body body);
  /// Everything that is its own, wherever it lies, but for free credit; what is reserved for claims
  /// is the gateway's.
  double wealth(const Address& owner) const;

  protocol::Job job(const Party& gateway, const Party& provider, const Digest& input_commitment);
  /// `count` answers in the open round, through both sides' state machines: committed to, signed by
  /// both, delivered. `cost` grows by what they cost.
  Result<std::vector<Work>> serve(Party& gateway, Party& provider, std::size_t count,
                                  const Maker& maker, double& cost);
  /// One answer that is committed to and not signed.
  Result<Work> commit(Party& gateway, Party& provider, tensor::NamedTensors inputs,
                      const tensor::NamedTensors& outputs);
  /// A batch of each side.
  void sign(std::span<Work> works);

  /// Shows this party's value of a round in the ledger.
  Result<void> reveal(Party& who, std::uint64_t round);
  /// Closes the open round: both reveal it. Says which tickets have won.
  Result<void> draw(std::span<Work> works);
  void mark_winners(std::span<Work> works);

  Result<void> claim(const Work& winner);
  /// root(Y) as an auditor finds it.
  Result<Digest> replay(const Work& work);
  /// The auditor runs it again: what is right is paid by its word, of anything else it accuses the
  /// provider. False: that was convicted.
  Result<bool> audit(const Work& winner);
  /// Nobody judges: the claim becomes due.
  Result<void> mature(const Work& winner);
  /// An auditor's word that all is well, whatever it did for it.
  Result<void> confirm(const Work& winner, const Party& auditor);
  /// Who accuses says to have computed `root`. A provider that was right stands by its answer, one
  /// that was not pleads anything. Whether it was convicted.
  Result<bool> accuse(const Work& work, const Party& accuser, const Digest& root);
  Result<bool> accuse(const Work& work, const Party& accuser, const Digest& root, Plea plea);
  /// The accusation alone, and the name of its case.
  Result<ledger::CaseKey> begin_case(const Work& work, const Party& accuser);
  /// As if the ledger had no memory of its claims.
  void forget_claims();
  /// Both go on: so many rounds without tickets.
  Result<void> idle(std::uint64_t rounds);
  /// claim(), then audit() or mature() of each winner. Returns how many were wrong.
  Result<std::size_t> settle(std::span<const Work> works, bool is_audited);
  /// claim() of each winner as far as the ledger takes them, and audit() of those; adds to `wrong`
  /// how many were. Returns how many were refused.
  Result<std::size_t> claim_what_is_covered(std::span<const Work> works, std::size_t& wrong);

  /// An answer of the digit network. `which` may be a cheat's.
  Result<Made> compute(Models::Digits which, double cost, const tensor::NamedTensors& input);
  Result<Made> honest(const tensor::NamedTensors& input);
  Result<Made> garbage(const tensor::NamedTensors& input);
  Maker honest_maker() {
    return [this](std::size_t, const tensor::NamedTensors& input) { return honest(input); };
  }

 private:
  Stand(Models& models, std::uint64_t seed, const Terms& terms);
  Result<void> found(const Terms& terms);
  Result<void> book(const Address& owner, const Amount& amount, const Digest& reference);
  /// Money for accusations and reports.
  Result<void> equip(const Party& who, const Amount& amount);
  Result<void> deliver(std::span<Work> works);
  Result<void> contest(const Work& work, const Party& accuser, const ledger::CaseKey& key,
                       const Digest& root);
  Result<void> report(const Work& work, const ledger::CaseKey& key);

  Models& models_;
  core::CounterRng rng_;
  core::CounterRng aside_;  // of accusations: what else is drawn does not depend on them
  core::ManualClock clock_;
  ledger::Signatures signatures_;
  KnowingArbiter knowing_;
  const ledger::Arbiter& arbiter_;
  std::optional<ledger::Ledger> ledger_{std::in_place, signatures_, &arbiter_};
  std::deque<Party> parties_;
  Party *operator_ = nullptr, *gateway_ = nullptr, *provider_ = nullptr, *auditor_ = nullptr;
  std::vector<Party*> outsiders_;  // who report
  std::uint64_t round_ = 1;
  Amount face_;
  Digest threshold_{};
};

/// What a trial on a stand comes to.
class Score {
 public:
  /// Wealth is counted from now on. Who is in neither list does not matter.
  Score(const Stand& stand, std::vector<Address> adversary, std::vector<Address> honest);

  double cost = 0;    // of the adversary's work
  double bribes = 0;  // that it got from outside

  enum class Buyer { kHonest, kAdversary };
  /// `works` are the answers that were delivered to the buyer.
  Trial finish(std::span<const Work> works, Buyer buyer = Buyer::kHonest) const;

 private:
  double wealth_of(const std::vector<Address>& owners) const;

  const Stand& stand_;
  std::vector<Address> adversary_, honest_;
  double adversary_before_, honest_before_;
};

}  // namespace commensal::attack
