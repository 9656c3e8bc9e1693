// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::attack {

using ledger::AccountKind;

namespace {

constexpr int kHashChainDepth = 6;  // 64 rounds

ledger::Config default_rules() {
  ledger::Config config;
  config.auditor_fee = Amount(price::kAuditorFee);
  config.auditor_bounty = Amount(price::kBounty);
  config.penalty = Amount(price::kPenalty);
  config.accusation_bond = Amount(price::kBond);
  config.auditor_stake = Amount(price::kAuditorStake);
  config.opening_rounds = 2;
  return config;
}

}  // namespace

Party::Party(core::Rng& rng, crypto::SecretKey own)
    : key(std::move(own)),
      address(key.address()),
      chain(beacon::HashChain::make(rng.next_digest(), kHashChainDepth)),
      head(protocol::sign_hash_chain_head(key, {{}, chain.anchor(), chain.rounds(), {}})) {}

Stand::Terms Stand::terms(double win) {
  return {win, price::kEscrow, price::kPenaltyEscrow, price::kStake, default_rules(), nullptr};
}

Stand::Stand(Models& models, std::uint64_t seed, const Terms& terms)
    : models_(models),
      rng_(seed),
      aside_(seed, 1),
      arbiter_(terms.arbiter == nullptr ? knowing_ : *terms.arbiter),
      face_(static_cast<std::uint64_t>(std::llround(price::kPay / terms.win))),
      threshold_(*ticket::threshold_of(terms.win)) {
  operator_ = &join(), gateway_ = &join(), provider_ = &join(), auditor_ = &join();
  while (outsiders_.size() < terms.rules.reports_needed) {
    outsiders_.push_back(&parties_.emplace_back(aside_));
  }
}

Result<std::unique_ptr<Stand>> Stand::open(Models& models, std::uint64_t seed, const Terms& terms) {
  std::unique_ptr<Stand> stand(new Stand(models, seed, terms));
  COMMENSAL_TRY(stand->found(terms));
  return stand;
}

Result<void> Stand::found(const Terms& terms) {
  ledger::Config config = terms.rules;
  config.operator_address = operator_->address;
  COMMENSAL_TRY(send(*operator_, ledger::Genesis{config}));
  COMMENSAL_TRY(admit(*auditor_));
  for (const Party* one : outsiders_) {
    COMMENSAL_TRY(equip(*one, config.auditor_stake));
    COMMENSAL_TRY(fund(*one, AccountKind::kStake, config.auditor_stake.low()));
    COMMENSAL_TRY(send(*one, ledger::Enlist{}));
  }
  COMMENSAL_TRY(equip(*gateway_, config.accusation_bond));
  COMMENSAL_TRY(deposit(gateway_->address, Amount(terms.escrow + terms.penalty_escrow)));
  COMMENSAL_TRY(fund(*gateway_, AccountKind::kEscrow, terms.escrow));
  COMMENSAL_TRY(fund(*gateway_, AccountKind::kPenaltyEscrow, terms.penalty_escrow));
  COMMENSAL_TRY(deposit(provider_->address, Amount(terms.stake)));
  COMMENSAL_TRY(fund(*provider_, AccountKind::kStake, terms.stake));
  return pair(*gateway_, *provider_);
}

Party& Stand::join() { return parties_.emplace_back(rng_); }

Party& Stand::join_again(const Party& who) {
  return parties_.emplace_back(rng_, *crypto::SecretKey::from_bytes(who.key.bytes()));
}

Result<void> Stand::deposit(const Address& owner, const Amount& amount) {
  if (amount == Amount()) return {};
  return book(owner, amount, rng_.next_digest());
}

Result<void> Stand::equip(const Party& who, const Amount& amount) {
  return book(who.address, amount, aside_.next_digest());
}

Result<void> Stand::book(const Address& owner, const Amount& amount, const Digest& reference) {
  COMMENSAL_TRY(send(*operator_, ledger::Deposit{owner, amount, reference}));
  return {};
}

Result<void> Stand::fund(const Party& who, AccountKind into, std::uint64_t amount) {
  if (amount == 0) return {};
  COMMENSAL_TRY(send(who, ledger::Fund{into, Amount(amount)}));
  return {};
}

Result<void> Stand::admit(const Party& auditor) {
  COMMENSAL_TRY(send(*operator_, ledger::AdmitAuditor{auditor.address, 1}));
  return equip(auditor, rules().accusation_bond);
}

Result<void> Stand::pair(const Party& gateway, const Party& provider) {
  COMMENSAL_TRY(send(provider, ledger::RegisterBeacon{gateway.head, provider.head}));
  return {};
}

Result<ledger::Entry> Stand::send(const Party& sender, ledger::Body body) {
  ledger::Transaction made;
  made.ledger = operator_->address;
  made.sender = sender.address;
  made.nonce = state().nonces.get(sender.address);
  made.body = std::move(body);
  ledger::sign(sender.key, made);
  return ledger_->apply(made, now_ms());
}

double Stand::wealth(const Address& owner) const {
  double sum = 0;
  for (const auto& [account, amount] : state().balances.rows()) {
    const bool counts = account.kind != AccountKind::kOutside &&
                        account.kind != AccountKind::kBurnt && account.kind != AccountKind::kCredit;
    if (account.owner == owner && counts) sum += ticket::to_double(amount);
  }
  return sum;
}

protocol::Job Stand::job(const Party& gateway, const Party& provider,
                         const Digest& input_commitment) {
  protocol::Job job;
  job.graph_root = models_.digits_roots().graph;
  job.weight_root = models_.digits_roots().weights;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment = input_commitment;
  job.client = gateway.address;
  job.provider = provider.address;
  job.face_value = face_;
  job.win_threshold = threshold_;
  job.beacons = {protocol::beacon_id(gateway.head, provider.head)};
  return job;
}

Result<Made> Stand::compute(Models::Digits which, double cost, const tensor::NamedTensors& input) {
  COMMENSAL_ASSIGN(auto outputs, models_.run(which, input));
  return Made{std::move(outputs), cost};
}

Result<Made> Stand::honest(const tensor::NamedTensors& input) {
  return compute(Models::Digits::kHonest, price::kStep, input);
}

Result<Made> Stand::garbage(const tensor::NamedTensors& input) {
  COMMENSAL_ASSIGN(const auto outputs, models_.run(Models::Digits::kHonest, input));
  return Made{Models::garbage(outputs, rng_), price::kGarbage};
}

Score::Score(const Stand& stand, std::vector<Address> adversary, std::vector<Address> honest)
    : stand_(stand),
      adversary_(std::move(adversary)),
      honest_(std::move(honest)),
      adversary_before_(wealth_of(adversary_)),
      honest_before_(wealth_of(honest_)) {}

double Score::wealth_of(const std::vector<Address>& owners) const {
  double sum = 0;
  for (const Address& owner : owners) sum += stand_.wealth(owner);
  return sum;
}

Trial Score::finish(std::span<const Work> works, Buyer buyer) const {
  Trial trial;
  trial.profit = wealth_of(adversary_) - adversary_before_ + bribes - cost;
  trial.others = wealth_of(honest_) - honest_before_;
  for (const Work& work : works) {
    if (!work.is_bad) {
      (buyer == Buyer::kHonest ? trial.others : trial.profit) += price::kWorth;
      continue;
    }
    const ledger::ClaimRow* claim = stand_.state().claims.find(work.id());
    const bool is_paid = claim != nullptr && claim->status == ledger::ClaimStatus::kPaid;
    trial.bad += 1;
    trial.bad_paid += is_paid ? 1 : 0;
  }
  return trial;
}

}  // namespace commensal::attack
