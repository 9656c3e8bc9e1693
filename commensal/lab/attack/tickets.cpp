// SPDX-License-Identifier: Apache-2.0
// Parties that do not show what they should: winners, reveals, answers, openings.
#include <cmath>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>

namespace commensal::attack {
namespace {

constexpr std::size_t kAnswers = 8;
constexpr std::size_t kBad = 4;  // the first ones
constexpr double kWin = 0.5;
constexpr double kBribe = 100;       // from outside, for each wrong answer that is delivered
constexpr double kRoundBribe = 300;  // likewise, where a whole round is at stake
constexpr std::size_t kRoundAnswers = 4;
constexpr std::size_t kRoundBad = 2;

double some_win(std::size_t tickets) {
  return 1 - std::pow(1 - kWin, static_cast<double>(tickets));
}

/// A round with some wrong answers, for which somebody outside pays.
Result<std::vector<Work>> serve_bribed(Stand& stand, Arm arm, std::size_t count, std::size_t bad,
                                       double bribe, Score& score) {
  const Maker maker = [&](std::size_t i, const tensor::NamedTensors& input) -> Result<Made> {
    return arm == Arm::kHonest || i >= bad ? stand.honest(input) : stand.garbage(input);
  };
  COMMENSAL_ASSIGN(auto works,
                   stand.serve(stand.gateway(), stand.provider(), count, maker, score.cost));
  for (const Work& work : works) score.bribes += work.is_bad ? bribe : 0;
  return works;
}

/// The winners that a cheat does not claim. Right ones it does.
Result<std::size_t> claim_right_ones(Stand& stand, std::span<const Work> works) {
  std::size_t wrong = 0;
  for (const Work& work : works) {
    if (work.is_bad) continue;
    COMMENSAL_ASSIGN(const std::size_t found, stand.settle({&work, 1}, true));
    wrong += found;
  }
  return wrong;
}

/// The gateway has what both signed and what opens it, claimed or not: all that an accusation is
/// made of. Its provider says nothing to it.
Result<bool> accuse_silent(Stand& stand, const Work& work) {
  COMMENSAL_ASSIGN(const Digest root, stand.replay(work));
  if (root == work.output_root) return false;
  return stand.accuse(work, stand.gateway(), root, Plea::kSilence);
}

// Winners with wrong answers are never claimed; the provider goes on working.
Result<Trial> selective(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, serve_bribed(*stand, arm, kAnswers, kBad, kBribe, score));
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_ASSIGN(const std::size_t accused, claim_right_ones(*stand, works));
  COMMENSAL_TRY(stand->idle(stand->rules().opening_rounds + 1));
  std::size_t silent = 0;
  for (const Work& work : works) {
    const bool is_unclaimed = work.won && stand->state().claims.find(work.id()) == nullptr;
    if (!is_unclaimed || arm == Arm::kOpen) continue;
    COMMENSAL_TRY(stand->send(stand->gateway(), ledger::Silence{work.receipt}));
    ++silent;
  }
  Trial trial = score.finish(works);
  trial.caught = silent > 0;
  trial.accused = accused + (arm == Arm::kHonest ? silent : 0);
  return trial;
}

// The same, but the provider acknowledges no later round: it can never be called silent.
Result<Trial> hit_and_run(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, serve_bribed(*stand, arm, kAnswers, kBad, kBribe, score));
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_ASSIGN(const std::size_t accused, claim_right_ones(*stand, works));
  std::size_t wrong = 0;
  for (const Work& work : works) {
    const bool is_unclaimed = work.won && stand->state().claims.find(work.id()) == nullptr;
    if (!is_unclaimed || arm != Arm::kDefended) continue;
    COMMENSAL_ASSIGN(const bool is_convicted, accuse_silent(*stand, work));
    wrong += is_convicted ? 1 : 0;
  }
  Trial trial = score.finish(works);
  trial.caught = wrong > 0;
  trial.accused = accused;
  return trial;
}

// The provider knows the draw before it reveals, and withholds a round that a wrong answer has won.
Result<Trial> withheld_reveal(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works,
                   serve_bribed(*stand, arm, kRoundAnswers, kRoundBad, kRoundBribe, score));
  COMMENSAL_TRY(stand->reveal(stand->gateway(), stand->round()));
  stand->mark_winners(works);
  const bool withholds =
      std::ranges::any_of(works, [](const Work& work) { return work.is_bad && work.won; });
  Trial trial;
  std::size_t wrong = 0;
  if (!withholds) {
    COMMENSAL_TRY(stand->reveal(stand->provider(), stand->round()));
    COMMENSAL_ASSIGN(wrong, stand->settle(works, true));
  } else if (arm == Arm::kDefended) {
    const protocol::Receipt& receipt = works.front().receipt;
    COMMENSAL_TRY(stand->send(stand->gateway(), ledger::Demand{receipt}));
    stand->wait_ms(stand->rules().absence_delay_ms + 1);
    COMMENSAL_TRY(stand->send(stand->gateway(), ledger::Default{receipt, {}}));
  }
  trial = score.finish(works);
  const ledger::ClaimRow* claim = stand->state().claims.find(works.front().id());
  trial.caught = claim != nullptr && claim->status == ledger::ClaimStatus::kDefaulted;
  trial.accused = wrong;
  return trial;
}

// The gateway takes its answers and never draws their round.
Result<Trial> withheld_round(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->gateway().address}, {stand->provider().address});
  double work_cost = 0;
  COMMENSAL_ASSIGN(auto works, stand->serve(stand->gateway(), stand->provider(), kAnswers,
                                            stand->honest_maker(), work_cost));
  std::size_t met = 0, wrong = 0;
  if (arm == Arm::kHonest) {
    COMMENSAL_TRY(stand->draw(works));
    COMMENSAL_ASSIGN(wrong, stand->settle(works, true));
  } else if (arm == Arm::kDefended) {
    COMMENSAL_TRY(stand->send(stand->provider(), ledger::Demand{works.front().receipt}));
    stand->wait_ms(stand->rules().reveal_delay_ms + 1);
    for (const Work& work : works) {
      COMMENSAL_TRY(stand->send(stand->provider(), ledger::Default{work.receipt, {}}));
      ++met;
    }
  }
  Trial trial = score.finish(works, Score::Buyer::kAdversary);
  trial.others -= work_cost;
  trial.caught = met == works.size();
  trial.accused = wrong;
  return trial;
}

/// All answers are made up. Who wants a winner's money shows the root and the salt that it
/// committed to (Open), and the inputs are its client's: `accuse` says whether it was convicted by
/// them.
Result<Trial> unshown(Models& models, Arm arm, std::uint64_t seed,
                      Result<bool> (*accuse)(Stand& stand, const Work& winner)) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, serve_bribed(*stand, arm, kAnswers, kAnswers, 0, score));
  COMMENSAL_TRY(stand->draw(works));
  std::size_t wrong = 0;
  for (const Work& work : works) {
    if (!work.won || arm != Arm::kDefended) continue;
    COMMENSAL_TRY(stand->claim(work));
    COMMENSAL_ASSIGN(const bool is_convicted, accuse(*stand, work));
    wrong += is_convicted ? 1 : 0;
  }
  std::size_t accused = 0;
  if (arm != Arm::kDefended) {
    COMMENSAL_ASSIGN(accused, stand->settle(works, arm == Arm::kHonest));
  }
  Trial trial = score.finish(works);
  trial.caught = wrong > 0;
  trial.accused = accused;
  return trial;
}

// A winner is claimed, and its inputs and outputs are shown to no auditor, nor to a dispute.
Result<Trial> withheld_opening(Models& models, Arm arm, std::uint64_t seed) {
  return unshown(models, arm, seed, accuse_silent);
}

// Nothing is ever delivered: what was committed to is no answer.
Result<Trial> withheld_answer(Models& models, Arm arm, std::uint64_t seed) {
  const auto audited = [](Stand& stand, const Work& winner) -> Result<bool> {
    COMMENSAL_ASSIGN(const bool is_right, stand.audit(winner));
    return !is_right;
  };
  COMMENSAL_ASSIGN(Trial trial, unshown(models, arm, seed, audited));
  trial.bad = 0;  // the consumer got nothing and knows it
  return trial;
}

const Attack kTable[] = {
    {"selective-claims", "is bribed for wrong answers, and never claims those that win",
     "a winner must be opened: Silence takes a fifth of the stake", "nobody sends Silence",
     "a Silence was booked", Place::kDaemons, "1 - (1 - p)^b, p 0.5, b 4", some_win(kBad),
     selective},
    {"hit-and-run",
     "likewise, and leaves: it acknowledges no later round, and answers no accusation",
     "what both signed is evidence, claimed or not; two auditors from outside decide",
     "the gateway waits for Silence", "it was convicted", Place::kLedger,
     "1 - (1 - p)^b, p 0.5, b 4", some_win(kBad), hit_and_run},
    {"withheld-reveal", "is bribed for wrong answers, and withholds rounds that they win",
     "Demand, then Default: a fifth of the stake", "nobody asks", "a Default was booked",
     Place::kDaemons, "1 - (1 - p)^b, p 0.5, b 2", some_win(kRoundBad), withheld_reveal},
    {"withheld-round", "a gateway that takes answers and never draws their round",
     "Demand, then Default: each ticket's worth, and a penalty", "nobody asks",
     "every ticket's Default was booked", Place::kDaemons, "1", 1, withheld_round},
    {"withheld-opening", "makes answers up, and shows no auditor its inputs and outputs",
     "a claim opens its commitment, the inputs are the client's: that is enough to accuse it",
     "a winner without a verdict matures", "it was convicted by auditors from outside",
     Place::kLedger, "1 - (1 - p)^n, p 0.5, n 8", some_win(kAnswers), withheld_opening},
    {"withheld-answer", "has commitments to nothing signed, claims their winners, never delivers",
     "a claim opens its commitment, the inputs are the client's: that is enough to accuse it",
     "a winner without a verdict matures", "it was convicted", Place::kLedger,
     "1 - (1 - p)^n, p 0.5, n 8", some_win(kAnswers), withheld_answer},
};

}  // namespace

std::span<const Attack> ticket_attacks() { return kTable; }

}  // namespace commensal::attack
