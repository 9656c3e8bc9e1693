// SPDX-License-Identifier: Apache-2.0
// Money that is spent twice, that was never one's own, or that should have been locked.
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/pay/ticket/cover.hpp>

namespace commensal::attack {
namespace {

using ledger::AccountKind;

constexpr std::size_t kAnswers = 8;
constexpr double kWin = 0.5;

/// Announces what it has locked for withdrawal, and tries to complete that at once.
Result<void> take_out(Stand& stand, const Party& gateway, AccountKind kind, bool is_free) {
  const ledger::AnnounceWithdrawal all{kind, stand.state().balance(gateway.address, kind)};
  COMMENSAL_ASSIGN(const auto entry, stand.send(gateway, all));
  const auto done = stand.send(gateway, ledger::CompleteWithdrawal{entry.sequence});
  core::check(done.has_value() == is_free, "a delay keeps the money, none does not");
  return {};
}

// What answers for tickets is announced for withdrawal between the answers and their draw.
Result<Trial> withdrawn_escrow(Models& models, Arm arm, std::uint64_t seed) {
  Stand::Terms terms = Stand::terms(kWin);
  if (arm == Arm::kOpen) terms.rules.withdrawal_delay_ms = 0;
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, terms));
  Party& gateway = stand->gateway();
  Score score(*stand, {gateway.address}, {stand->provider().address});
  double work_cost = 0;
  COMMENSAL_ASSIGN(auto works, stand->serve(gateway, stand->provider(), kAnswers,
                                            stand->honest_maker(), work_cost));
  if (arm != Arm::kHonest) {
    for (const AccountKind kind : {AccountKind::kEscrow, AccountKind::kPenaltyEscrow}) {
      COMMENSAL_TRY(take_out(*stand, gateway, kind, arm == Arm::kOpen));
    }
  }
  COMMENSAL_TRY(stand->draw(works));
  std::size_t wrong = 0;
  COMMENSAL_ASSIGN(const std::size_t refused, stand->claim_what_is_covered(works, wrong));
  Trial trial = score.finish(works, Score::Buyer::kAdversary);
  trial.others -= work_cost;
  trial.caught = arm == Arm::kDefended && refused == 0;
  trial.accused = wrong;
  return trial;
}

/// How many tickets its provider takes: by the daemon's own rule, its penalty escrow apart.
std::uint64_t covered(const Stand& stand, const Address& gateway) {
  const ticket::Cover cover{stand.state().balance(gateway, AccountKind::kEscrow), {}};
  std::uint64_t tickets = 0;
  while (tickets < kAnswers && ticket::check_cover(cover, tickets + 1, kWin, stand.face(),
                                                   stand.rules().auditor_fee, false)) {
    ++tickets;
  }
  return tickets;
}

// Tickets for more than the escrow can pay.
Result<Trial> uncovered(Models& models, Arm arm, std::uint64_t seed) {
  constexpr std::uint64_t kThinEscrow = 250;  // one winner and its fee
  Stand::Terms terms = Stand::terms(kWin);
  if (arm != Arm::kHonest) {
    terms.escrow = kThinEscrow;
    terms.penalty_escrow = 0;  // else it would have to pay for what the escrow lacks
  }
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, terms));
  Party& gateway = stand->gateway();
  Score score(*stand, {gateway.address}, {stand->provider().address});
  const std::uint64_t enough = covered(*stand, gateway.address);
  double work_cost = 0;
  const std::uint64_t count = arm == Arm::kOpen ? kAnswers : enough;
  COMMENSAL_ASSIGN(auto works, stand->serve(gateway, stand->provider(), count,
                                            stand->honest_maker(), work_cost));
  COMMENSAL_TRY(stand->draw(works));
  std::size_t wrong = 0;
  COMMENSAL_ASSIGN(const std::size_t refused, stand->claim_what_is_covered(works, wrong));
  Trial trial = score.finish(works, Score::Buyer::kAdversary);
  trial.others -= work_cost;
  trial.caught = arm == Arm::kDefended && refused == 0;
  trial.accused = wrong;
  return trial;
}

/// All that free credit must not be good for. Returns how many of these ways are closed.
std::size_t closed_ways(Stand& stand, const Party& consumer, const Amount& credit) {
  const Digest request = stand.rng().next_digest();
  const ledger::Body ways[] = {
      ledger::Withdraw{credit}, ledger::Fund{AccountKind::kStake, credit},
      ledger::Debit{consumer.address, consumer.address, AccountKind::kCredit, credit,
                    stand.provider().address, request},
      ledger::Debit{consumer.address, stand.gateway().address, AccountKind::kCredit, credit,
                    consumer.address, request}};
  std::size_t closed = 0;
  for (const ledger::Body& way : ways) closed += stand.send(consumer, way) ? 0 : 1;
  return closed;
}

// A new customer's free credit, to be turned into money.
Result<Trial> free_credit(Models& models, Arm arm, std::uint64_t seed) {
  constexpr std::size_t kWays = 4;
  const Amount price(static_cast<std::uint64_t>(price::kPay));
  const Amount credit(price.low() * kAnswers);
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  const Party& bank = stand->book_keeper();
  const Party& consumer = stand->join();
  COMMENSAL_TRY(stand->deposit(bank.address, credit));
  Score score(*stand, {consumer.address, stand->provider().address},
              {stand->gateway().address, bank.address});
  std::size_t closed = 0;
  if (arm == Arm::kOpen) {
    COMMENSAL_TRY(stand->deposit(consumer.address, credit));
  } else if (arm == Arm::kDefended) {
    COMMENSAL_TRY(stand->send(bank, ledger::Fund{AccountKind::kCreditPool, credit}));
    COMMENSAL_TRY(stand->send(bank, ledger::GrantCredit{consumer.address, credit}));
    closed = closed_ways(*stand, consumer, credit);
  }
  // What is left: requests to its own provider, whose winners are audited as ever.
  COMMENSAL_ASSIGN(auto works, stand->serve(stand->gateway(), stand->provider(), kAnswers,
                                            stand->honest_maker(), score.cost));
  for (const Work& work : works) {
    if (arm != Arm::kDefended) continue;
    const ledger::Debit debit{consumer.address,          stand->gateway().address,
                              AccountKind::kCredit,      price,
                              stand->provider().address, protocol::job_id(work.receipt.job)};
    COMMENSAL_TRY(stand->send(consumer, debit));
  }
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_ASSIGN(const std::size_t wrong, stand->settle(works, true));
  Trial trial = score.finish(works);
  trial.caught = closed == kWays;
  trial.accused = wrong;
  return trial;
}

// How a provider gets its stake out before the wrong answers that it was bribed for are found.

constexpr std::size_t kBad = 4;
constexpr double kBribe = 150;

struct Exit {
  std::unique_ptr<Stand> stand;
  Party* own_gateway = nullptr;   // of the provider
  Party* own_provider = nullptr;  // the provider's key, another chain
  std::vector<Work> works;        // for the honest gateway, all of them winners
};

Result<Exit> serve_before_exit(Models& models, Arm arm, std::uint64_t seed,
                               const Stand::Terms& terms, std::optional<Score>& score) {
  Exit exit;
  COMMENSAL_ASSIGN(exit.stand, Stand::open(models, seed, terms));
  Stand& stand = *exit.stand;
  exit.own_gateway = &stand.join();
  exit.own_provider = &stand.join_again(stand.provider());
  COMMENSAL_TRY(stand.pair(*exit.own_gateway, *exit.own_provider));
  score.emplace(stand, std::vector{stand.provider().address, exit.own_gateway->address},
                std::vector{stand.gateway().address});
  const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) -> Result<Made> {
    return arm == Arm::kHonest ? stand.honest(input) : stand.garbage(input);
  };
  COMMENSAL_ASSIGN(exit.works,
                   stand.serve(stand.gateway(), stand.provider(), kBad, maker, score->cost));
  for (const Work& work : exit.works) score->bribes += work.is_bad ? kBribe : 0;
  return exit;
}

/// The honest gateway's part: it draws, opens what has won, and has it judged.
Result<Trial> found_out(Exit& exit, Arm arm, const Score& score, bool caught) {
  COMMENSAL_TRY(exit.stand->draw(exit.works));
  COMMENSAL_ASSIGN(const std::size_t wrong, exit.stand->settle(exit.works, true));
  Trial trial = score.finish(exit.works);
  trial.caught = caught;
  trial.accused = arm == Arm::kHonest ? wrong : 0;
  return trial;
}

/// Tickets between the provider and itself, drawn, none of which it opens.
Result<void> slash_oneself(Exit& exit) {
  Stand& stand = *exit.stand;
  double cost = 0;
  constexpr std::size_t kEnough = 12;
  COMMENSAL_ASSIGN(const auto own, stand.serve(*exit.own_gateway, *exit.own_provider, kEnough,
                                               stand.honest_maker(), cost));
  const std::uint64_t later = stand.round() + stand.rules().opening_rounds + 1;
  COMMENSAL_TRY(stand.reveal(*exit.own_gateway, later));
  COMMENSAL_TRY(stand.reveal(*exit.own_provider, later));
  for (const Work& work : own) {
    COMMENSAL_TRY(stand.send(*exit.own_gateway, ledger::Silence{work.receipt}));
  }
  return {};
}

Result<Trial> self_slashing(Models& models, Arm arm, std::uint64_t seed) {
  std::optional<Score> score;
  COMMENSAL_ASSIGN(Exit exit, serve_before_exit(models, arm, seed, Stand::terms(1), score));
  Stand& stand = *exit.stand;
  Amount burnt;
  if (arm != Arm::kHonest) {
    COMMENSAL_TRY(slash_oneself(exit));
    burnt = stand.state().balances.get(ledger::kBurnt);
  }
  if (arm == Arm::kOpen) COMMENSAL_TRY(stand.deposit(exit.own_gateway->address, burnt));
  return found_out(exit, arm, *score, arm == Arm::kDefended && burnt >= Amount(price::kStake / 2));
}

/// An outcome that both of its keys sign: the stake goes to its own gateway.
bool settle_with_oneself(Exit& exit) {
  Stand& stand = *exit.stand;
  double cost = 0;
  auto own = stand.serve(*exit.own_gateway, *exit.own_provider, 1, stand.honest_maker(), cost);
  if (!own) return false;
  protocol::JointSettlement outcome;
  outcome.ticket = own->front().id();
  outcome.client = exit.own_gateway->address;
  outcome.holder = exit.own_provider->address;
  outcome.to_client = Amount(price::kStake);
  outcome.by_client = protocol::sign_settlement(exit.own_gateway->key, outcome);
  outcome.by_holder = protocol::sign_settlement(exit.own_provider->key, outcome);
  const ledger::Settle settle{own->front().receipt, {}, outcome};
  return stand.send(*exit.own_gateway, settle).has_value();
}

Result<Trial> self_settling(Models& models, Arm arm, std::uint64_t seed) {
  Stand::Terms terms = Stand::terms(1);
  if (arm == Arm::kOpen) terms.rules.withdrawal_delay_ms = 0;
  std::optional<Score> score;
  COMMENSAL_ASSIGN(Exit exit, serve_before_exit(models, arm, seed, terms, score));
  Stand& stand = *exit.stand;
  bool is_out = false;
  if (arm == Arm::kDefended) is_out = settle_with_oneself(exit);
  if (arm == Arm::kOpen) {
    COMMENSAL_ASSIGN(const auto entry,
                     stand.send(stand.provider(), ledger::AnnounceWithdrawal{
                                                      AccountKind::kStake, Amount(price::kStake)}));
    COMMENSAL_TRY(stand.send(stand.provider(), ledger::CompleteWithdrawal{entry.sequence}));
  }
  return found_out(exit, arm, *score, arm == Arm::kDefended && !is_out);
}

const Attack kTable[] = {
    {"withdrawn-escrow", "a gateway that takes its escrows out between the answers and their draw",
     "a withdrawal waits for days and covers winners until then", "a delay of 0",
     "every winner was covered", Place::kLedger, "1", 1, withdrawn_escrow},
    {"uncovered-tickets", "a gateway that signs tickets for more than its escrow can pay",
     "the provider takes no more than the escrow covers", "the provider does not look",
     "every winner was covered", Place::kRooms, "1", 1, uncovered},
    {"free-credit", "a new customer that tries to turn free credit into money",
     "credit buys requests, of others only; their winners are audited", "the gift is money",
     "withdrawal, stake and both payments to itself were refused", Place::kLedger, "1", 1,
     free_credit},
    {"self-slashing", "is bribed, and has its own second key slash it before it is found out",
     "half of every slash is burnt", "what was burnt is handed back",
     "at least half of the stake was burnt", Place::kLedger, "1", 1, self_slashing},
    {"self-settling", "is bribed, and settles with its own second key, out of its stake",
     "a settlement takes nothing out of a stake", "stakes are withdrawn without delay",
     "the settlement was refused", Place::kLedger, "1", 1, self_settling},
};

}  // namespace

std::span<const Attack> money_attacks() { return kTable; }

}  // namespace commensal::attack
