// SPDX-License-Identifier: Apache-2.0
// A gateway that has spent its escrow by the time that its tickets' winners claim theirs.
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/pay/ticket/cover.hpp>

namespace commensal::attack {
namespace {

using ledger::AccountKind;

constexpr std::size_t kAnswers = 8;
constexpr double kWin = 0.5;

/// The gateway, a provider that works for it, and a second key of the gateway's owner.
struct Den {
  std::unique_ptr<Stand> stand;
  Party* own = nullptr;  // a provider by its key only: nobody computes for its tickets
  std::vector<Work> works;
  double work_cost = 0;  // of the honest provider
};

/// Whether its provider works for it, by the daemon's own rule.
bool is_covered(const Stand& stand, const Address& gateway) {
  const auto has = [&](AccountKind kind) { return stand.state().balance(gateway, kind); };
  return ticket::check_cover({has(AccountKind::kEscrow), has(AccountKind::kPenaltyEscrow)},
                             kAnswers, kWin, stand.face(), stand.rules().auditor_fee, true)
      .has_value();
}

/// In the control the provider does not look.
Result<Den> serve_beside_oneself(Models& models, Arm arm, std::uint64_t seed,
                                 const Stand::Terms& terms, std::optional<Score>& score) {
  Den den;
  COMMENSAL_ASSIGN(den.stand, Stand::open(models, seed, terms));
  Stand& stand = *den.stand;
  core::check(is_covered(stand, stand.gateway().address) == (arm != Arm::kOpen),
              "the provider's rule tells the control from the others");
  den.own = &stand.join();
  COMMENSAL_TRY(stand.pair(stand.gateway(), *den.own));
  score.emplace(stand, std::vector{stand.gateway().address, den.own->address},
                std::vector{stand.provider().address});
  COMMENSAL_ASSIGN(den.works, stand.serve(stand.gateway(), stand.provider(), kAnswers,
                                          stand.honest_maker(), den.work_cost));
  return den;
}

/// A ticket between the gateway and itself, over an answer that nobody computed: it wins for sure.
Result<Work> own_ticket(Den& den, const Amount& face) {
  Stand& stand = *den.stand;
  auto input = stand.models().picture(stand.rng());
  COMMENSAL_ASSIGN(const Made made, stand.garbage(input));
  COMMENSAL_ASSIGN(Work work,
                   stand.commit(stand.gateway(), *den.own, std::move(input), made.outputs));
  protocol::Job& job = work.receipt.job;
  job.face_value = face;
  job.win_threshold = ticket::certain_threshold();
  work.receipt.commitment =
      protocol::commit_step(protocol::job_id(job), 1, work.output_root, work.output_salt);
  stand.sign({&work, 1});
  return work;
}

/// Both of its keys sign that the whole escrow is the second one's: at once, without a delay.
Result<void> drain_escrow(Den& den) {
  Stand& stand = *den.stand;
  COMMENSAL_ASSIGN(const Work own, own_ticket(den, stand.face()));
  protocol::JointSettlement outcome;
  outcome.ticket = own.id();
  outcome.client = stand.gateway().address;
  outcome.holder = den.own->address;
  outcome.to_holder = stand.state().balance(stand.gateway().address, AccountKind::kEscrow);
  outcome.by_client = protocol::sign_settlement(stand.gateway().key, outcome);
  outcome.by_holder = protocol::sign_settlement(den.own->key, outcome);
  COMMENSAL_TRY(stand.send(stand.gateway(), ledger::Settle{own.receipt, {}, outcome}));
  return {};
}

Trial outcome_of(const Den& den, const Score& score, std::size_t wrong) {
  Trial trial = score.finish(den.works, Score::Buyer::kAdversary);
  trial.others -= den.work_cost;
  trial.accused = wrong;
  return trial;
}

// The escrow goes to the second key between the draw and the claims.
Result<Trial> drained_escrow(Models& models, Arm arm, std::uint64_t seed) {
  Stand::Terms terms = Stand::terms(kWin);
  if (arm == Arm::kOpen) terms.penalty_escrow = 0;
  std::optional<Score> score;
  COMMENSAL_ASSIGN(Den den, serve_beside_oneself(models, arm, seed, terms, score));
  COMMENSAL_TRY(den.stand->draw(den.works));
  if (arm != Arm::kHonest) COMMENSAL_TRY(drain_escrow(den));
  std::size_t wrong = 0;
  COMMENSAL_ASSIGN(const std::size_t refused, den.stand->claim_what_is_covered(den.works, wrong));
  Trial trial = outcome_of(den, *score, wrong);
  trial.caught = arm == Arm::kDefended && refused == 0;
  return trial;
}

/// What the ledger would take for the winners.
Result<Amount> dues(const Den& den) {
  COMMENSAL_ASSIGN(const Amount each, den.stand->face().plus(den.stand->rules().auditor_fee));
  const auto winners = std::ranges::count(den.works, true, &Work::won);
  return each.times(Amount(static_cast<std::uint64_t>(winners)));
}

// The penalty escrow goes the same way, by a ticket of its own that the empty escrow lacks.
Result<Trial> drained_penalty(Models& models, Arm arm, std::uint64_t seed) {
  constexpr std::uint64_t kThinPenalty = 200;  // of one winner, not twice that of all
  Stand::Terms terms = Stand::terms(kWin);
  if (arm == Arm::kOpen) terms.penalty_escrow = kThinPenalty;
  std::optional<Score> score;
  COMMENSAL_ASSIGN(Den den, serve_beside_oneself(models, arm, seed, terms, score));
  Stand& stand = *den.stand;
  const Amount half(terms.penalty_escrow / 2);
  COMMENSAL_ASSIGN(const Amount face, half.minus(stand.rules().auditor_fee));
  COMMENSAL_ASSIGN(const Work own, own_ticket(den, face));
  COMMENSAL_TRY(stand.reveal(*den.own, stand.round()));
  COMMENSAL_TRY(stand.draw(den.works));
  if (arm != Arm::kHonest) {
    COMMENSAL_TRY(drain_escrow(den));
    COMMENSAL_TRY(stand.claim(own));
  }
  std::size_t wrong = 0;
  COMMENSAL_ASSIGN(const std::size_t refused, stand.claim_what_is_covered(den.works, wrong));
  if (arm != Arm::kHonest) COMMENSAL_TRY(stand.mature(own));
  Trial trial = outcome_of(den, *score, wrong);
  COMMENSAL_ASSIGN(const Amount owed, dues(den));
  const Amount burnt = stand.state().balances.get(ledger::kBurnt);
  trial.caught = arm == Arm::kDefended && (refused == 0 || burnt >= owed);
  return trial;
}

const Attack kTable[] = {
    {"drained-escrow", "a gateway that gives its escrow to its own second key after the draw",
     "what the escrow lacks comes out of a penalty escrow, as much is burnt; providers want one",
     "no penalty escrow", "every winner was paid all the same", Place::kRooms, "1", 1,
     drained_escrow},
    {"drained-penalty", "drains its escrow, and its penalty escrow by a winner of its own",
     "half of a penalty escrow is burnt; providers want twice what all tickets may win",
     "a penalty escrow of one winner", "as much was burnt as the winners were worth", Place::kRooms,
     "1", 1, drained_penalty},
};

}  // namespace

std::span<const Attack> drain_attacks() { return kTable; }

}  // namespace commensal::attack
