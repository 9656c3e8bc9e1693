// SPDX-License-Identifier: Apache-2.0
// Attacks on honest providers, and on whoever pays for errors.
#include <commensal/base/store/memory_store.hpp>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/lying_player.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/lab/serial/local_rollout.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/trade/market/panel/case.hpp>

namespace commensal::attack {
namespace {

using protocol::Outcome;

/// A false accusation and what comes of it. Whether the provider was convicted.
Result<bool> accuse_falsely(Models& models, Stand& stand, const Work& work) {
  COMMENSAL_ASSIGN(const ledger::CaseKey key, stand.begin_case(work, stand.auditor()));
  COMMENSAL_TRY(stand.send(stand.provider(), ledger::Contest{key.subject, key.accuser}));
  COMMENSAL_TRY(argue_as_liar(models, stand, work, key));
  const ledger::CaseStatus status = stand.state().cases.find(key)->status;
  if (!ledger::is_pending(status)) return status == ledger::CaseStatus::kConvicted;
  return core::fail(core::ErrorCode::kInternal, "a dispute did not end");
}

// A gateway whose own auditor says that a right answer is wrong.
Result<Trial> framed(Models& models, Arm arm, std::uint64_t seed) {
  static const cases::LedgerArbiter kArbiter;
  static const CredulousArbiter kCredulous;
  Stand::Terms terms = Stand::terms(1);
  terms.arbiter = &kArbiter;
  if (arm == Arm::kOpen) terms.arbiter = &kCredulous;
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, terms));
  Score score(*stand, {stand->gateway().address, stand->auditor().address},
              {stand->provider().address});
  double work_cost = 0;
  COMMENSAL_ASSIGN(auto works, stand->serve(stand->gateway(), stand->provider(), 1,
                                            stand->honest_maker(), work_cost));
  COMMENSAL_TRY(stand->draw(works));
  const Work& work = works.front();
  COMMENSAL_TRY(stand->claim(work));
  bool is_guilty = false;
  if (arm != Arm::kHonest) {
    COMMENSAL_ASSIGN(is_guilty, accuse_falsely(models, *stand, work));
  }
  if (!is_guilty) COMMENSAL_TRY(stand->mature(work));
  Trial trial = score.finish(works, Score::Buyer::kAdversary);
  trial.others -= work_cost;
  trial.caught = arm == Arm::kDefended && !is_guilty;
  trial.accused = is_guilty ? 1 : 0;
  return trial;
}

// A client that shows the auditor another seed than it has shown the provider.
Result<Trial> framed_by_seed(Models& models, Arm arm, std::uint64_t seed) {
  core::CounterRng rng(seed);
  store::MemoryStore client_store, provider_store;
  core::ManualClock clock;
  serial::RolloutOptions options;
  options.graph = models.letters_graph();
  options.feeds = Models::letters_feeds();
  options.inputs = Models::letters_inputs();
  options.steps = 2;
  options.noise_exponent = 16;
  options.audit_probability = 0;
  options.win_probability = 0;
  options.secret = rng.next_digest();
  COMMENSAL_ASSIGN(const auto local,
                   serial::LocalRollout::open({client_store, provider_store, clock, rng}, options));
  COMMENSAL_TRY(local->run([](const serial::RolloutReport&) {}));
  COMMENSAL_ASSIGN(auto shown, local->client().opening(options.steps));
  COMMENSAL_ASSIGN(const auto receipt, local->client().receipt(options.steps));
  if (arm != Arm::kHonest) shown.task.value = rng.next_digest();
  auto root = receipt::replay(shown.task, models.letters(), models.letters_roots());
  Trial trial;
  trial.caught = arm != Arm::kHonest && !root;
  if (arm == Arm::kOpen) {
    // Seeds that only the client could derive: the auditor runs what it is given.
    receipt::Values inputs;
    for (const auto& item : shown.task.outputs_before) inputs.push_back(item.value);
    inputs.resize(Models::letters_feeds().size());
    const auto noise = receipt::noise_of_step(shown.task.job, protocol::job_id(shown.task.job),
                                              shown.task.step, shown.task.value);
    COMMENSAL_ASSIGN(const auto outputs, models.letters().run(inputs, noise));
    root = receipt::outputs_root(*models.letters_graph(), outputs);
  }
  const crypto::SecretKey auditor = crypto::SecretKey::generate(rng);
  // Auditors who are shown the same report the same: that convicts.
  const bool is_guilty =
      root &&
      receipt::judge(receipt.body(), *root, shown.output_salt, auditor).outcome != Outcome::kMatch;
  // The step is not paid, and half of the stake is the client's.
  const double saved = price::kPay + static_cast<double>(price::kStake) / 2;
  trial.profit = is_guilty ? saved : 0;
  trial.others = is_guilty ? -price::kPay - static_cast<double>(price::kStake) : 0;
  trial.accused = is_guilty ? 1 : 0;
  return trial;
}

// A provider and an auditor of one owner: errors on purpose, for what accusing them brings.
Result<Trial> forced_errors(Models& models, Arm arm, std::uint64_t seed) {
  constexpr std::size_t kAnswers = 2;  // makes a pattern
  constexpr std::uint64_t kJackpot = 6000;
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(1)));
  Score score(*stand, {stand->provider().address, stand->auditor().address},
              {stand->gateway().address});
  const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) -> Result<Made> {
    return arm == Arm::kHonest ? stand->honest(input) : stand->garbage(input);
  };
  COMMENSAL_ASSIGN(auto works,
                   stand->serve(stand->gateway(), stand->provider(), kAnswers, maker, score.cost));
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_ASSIGN(const std::size_t wrong, stand->settle(works, true));
  if (arm == Arm::kOpen && wrong > 0) {
    COMMENSAL_TRY(stand->deposit(stand->auditor().address, Amount(kJackpot)));
  }
  Trial trial = score.finish(works);
  trial.caught = wrong > 0;
  trial.accused = arm == Arm::kHonest ? wrong : 0;
  return trial;
}

// Objections without a reason, to keep an honest provider's money and time.

constexpr double kNuisance = 40;  // what somebody outside pays for a case that is dragged out

panel::Terms terms_of(Stand& stand, const Work& work, Arm arm, const Party& member) {
  panel::Terms terms;
  terms.ticket = work.id();
  terms.client = stand.gateway().address;
  terms.holder = stand.provider().address;
  terms.auditors = {member.address};
  terms.appeals_max = 0;
  terms.face = stand.face();
  terms.bond = Amount(300);
  if (arm != Arm::kOpen) terms.fee = Amount(20), terms.deposit = Amount(50);
  return terms;
}

class Hearing {
 public:
  Hearing(panel::Case& made, std::uint64_t round) : case_(made), round_(round) {}
  Result<void> tell(const panel::Deed& deed) {
    panel::Event event = panel::event_of(deed);
    event.number = case_.events();
    event.at_ms = now_ms_;
    event.round = round_;
    return case_.apply(event);
  }
  Result<void> move(const Party& actor, panel::MoveKind kind, panel::Ruling ruling = {},
                    const Digest& word = {}) {
    panel::Move made;
    made.case_id = case_.id();
    made.instance = case_.instances().size();
    made.kind = kind;
    made.ruling = ruling;
    made.word = word;
    return tell(panel::sign_move(actor.key, made, case_.terms().chain_id));
  }
  Result<void> draw(const Digest& beacon) {
    round_ = case_.instances().back().draw_round;
    return tell(panel::Draw{round_, beacon});
  }
  Result<void> time_out() {
    now_ms_ = case_.deadline_ms();
    return tell(panel::Timeout());
  }

 private:
  panel::Case& case_;
  std::uint64_t round_, now_ms_ = 0;
};

double paid_to(const panel::Case& made, const Address& who) {
  double sum = 0;
  for (const panel::Payout& payout : made.outcome()->payouts) {
    if (payout.to == who) sum += static_cast<double>(payout.amount.low());
  }
  return sum;
}

/// The objection, and the auditor's vote after it has run the step again.
Result<void> hear(Stand& stand, Hearing& hearing, panel::Case& made, const Work& work,
                  const Party& member) {
  COMMENSAL_TRY(hearing.move(stand.gateway(), panel::MoveKind::kObject));
  COMMENSAL_TRY(hearing.draw(stand.rng().next_digest()));
  COMMENSAL_ASSIGN(const Digest root, stand.replay(work));
  const auto verdict = receipt::judge(work.receipt.body(), root, work.output_salt, member.key);
  const panel::Ruling ruling =
      verdict.outcome == Outcome::kMatch ? panel::Ruling::kForHolder : panel::Ruling::kForClient;
  const Digest salt = stand.rng().next_digest();
  COMMENSAL_TRY(hearing.move(
      member, panel::MoveKind::kCommit, {},
      panel::vote_commitment(made.id(), made.instances().size(), member.address, ruling, salt)));
  COMMENSAL_TRY(hearing.move(member, panel::MoveKind::kReveal, ruling, salt));
  while (!made.outcome()) COMMENSAL_TRY(hearing.time_out());
  return {};
}

Result<Trial> objections(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(1)));
  const Party& member = stand->join();
  double work_cost = 0;
  COMMENSAL_ASSIGN(auto works, stand->serve(stand->gateway(), stand->provider(), 1,
                                            stand->honest_maker(), work_cost));
  const Work& work = works.front();
  COMMENSAL_ASSIGN(auto made, panel::Case::open(terms_of(*stand, work, arm, member), 0, 1));
  Hearing hearing(made, 1);
  Trial trial;
  if (arm == Arm::kHonest) {
    COMMENSAL_TRY(hearing.move(stand->gateway(), panel::MoveKind::kAccept));
  } else {
    const double staked = static_cast<double>(made.stake_asked()->low());
    COMMENSAL_TRY(hear(*stand, hearing, made, work, member));
    trial.profit = kNuisance - staked + paid_to(made, stand->gateway().address);
  }
  const panel::Terms& terms = made.terms();
  trial.others = static_cast<double>(made.outcome()->to_holder.low()) +
                 paid_to(made, terms.holder) - static_cast<double>(terms.bond.low()) - work_cost;
  trial.caught = made.ruling() == panel::Ruling::kForHolder;
  trial.accused = made.outcome()->to_holder == terms.face ? 0 : 1;
  return trial;
}

const Attack kTable[] = {
    {"framing", "a gateway whose own auditor accuses a right answer",
     "a dispute down to one operation, which the daemons' arbiter computes; the bond is lost",
     "an arbiter that believes the accuser", "the arbiter found the accuser wrong", Place::kLedger,
     "1", 1, framed},
    {"framing-by-seed", "a client that shows the auditor of a step another seed",
     "seeds are a hash chain whose anchor stands in the job", "seeds without an anchor",
     "the auditor refused the task", Place::kRooms, "1", 1, framed_by_seed},
    {"forced-errors", "errs on purpose, and has its own auditor find it",
     "no jackpot: half of a slash is burnt, the bounty is fixed and comes out of the rest",
     "a jackpot of 6000 for an error that is found", "its provider was convicted", Place::kLedger,
     "1", 1, forced_errors},
    {"idle-objections", "a client that is paid to object to right answers",
     "who objects stakes the fees and a deposit, and loses both", "objections are free",
     "the auditor ruled for the provider", Place::kRooms, "1", 1, objections},
};

}  // namespace

std::span<const Attack> framing_attacks() { return kTable; }

}  // namespace commensal::attack
