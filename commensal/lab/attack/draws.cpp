// SPDX-License-Identifier: Apache-2.0
// Choosing what one signs, shows or sends so that it wins.
#include <algorithm>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::attack {
namespace {

constexpr std::size_t kAnswers = 8;
constexpr double kWin = 0.1;
constexpr double kEvenWin = 0.5;  // where one choice in two is enough
constexpr int kCandidates = 8;

/// The same answer under another salt, or for another job.
void commit_again(Work& work, core::Rng& rng) {
  work.output_salt = rng.next_digest();
  work.receipt.commitment = protocol::commit_step(protocol::job_id(work.receipt.job), 1,
                                                  work.output_root, work.output_salt);
}

bool would_win(const Work& work, const Digest& beacon) {
  return ticket::wins(ticket::draw(beacon, work.receipt.body()), work.receipt.job.win_threshold);
}

/// Honest answers, committed to and not signed.
Result<std::vector<Work>> committed(Stand& stand, double& cost) {
  std::vector<Work> works;
  for (std::size_t i = 0; i < kAnswers; ++i) {
    auto input = stand.models().picture(stand.rng());
    COMMENSAL_ASSIGN(const Made made, stand.honest(input));
    cost += made.cost;
    COMMENSAL_ASSIGN(works.emplace_back(), stand.commit(stand.gateway(), stand.provider(),
                                                        std::move(input), made.outputs));
  }
  return works;
}

/// What the provider guesses the open round's beacon to be, by what it knows of the gateway's
/// chain.
Digest guess(Stand& stand, const Digest& by_gateway) {
  return protocol::beacon_value(stand.round(), by_gateway,
                                *stand.provider().chain.reveal(stand.round()));
}

/// What the gateway's book says to a ticket of a round that it has revealed.
bool is_refused_late(const Work& work) {
  store::MemoryStore store;
  core::ManualClock clock;
  ticket::TicketBook book(store, clock);
  const ticket::NewTicket late{work.receipt, {}, {}};
  return book.open() && !book.commit({&late, 1}, work.receipt.round + 1);
}

Result<Trial> paid(Stand& stand, std::vector<Work>& works, const Score& score,
                   Score::Buyer buyer = Score::Buyer::kHonest) {
  stand.sign(works);
  COMMENSAL_TRY(stand.draw(works));
  COMMENSAL_ASSIGN(const std::size_t wrong, stand.settle(works, true));
  Trial trial = score.finish(works, buyer);
  trial.accused = wrong;
  return trial;
}

// Of many salts the one whose ticket wins.
Result<Trial> grind_salt(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, committed(*stand, score.cost));
  Party& gateway = stand->gateway();
  // The last value shown; in the control the round's own, as tickets of it are still signed.
  COMMENSAL_ASSIGN(const Digest shown, gateway.chain.reveal(stand->round()));
  const Digest beacon = guess(*stand, arm == Arm::kOpen ? shown : gateway.head.anchor);
  bool all_refused = true;
  for (Work& work : works) {
    if (arm == Arm::kHonest) continue;
    all_refused = all_refused && is_refused_late(work);
    for (int i = 1; i < kCandidates && !would_win(work, beacon); ++i) {
      commit_again(work, stand->rng());
    }
  }
  COMMENSAL_ASSIGN(Trial trial, paid(*stand, works, score));
  trial.caught = arm == Arm::kDefended && all_refused;
  return trial;
}

// Of many values the one that the provider would like to have committed to before.
Result<Trial> grind_reveal(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, committed(*stand, score.cost));
  Party& provider = stand->provider();
  COMMENSAL_ASSIGN(const Digest by_gateway, stand->gateway().chain.reveal(stand->round()));
  std::size_t refused = 0;
  std::ptrdiff_t best = 0;
  for (int i = 0; i < kCandidates && arm != Arm::kHonest; ++i) {
    const Digest value = stand->rng().next_digest();
    const Digest beacon = protocol::beacon_value(stand->round(), by_gateway, value);
    const auto wins =
        std::ranges::count_if(works, [&](const Work& work) { return would_win(work, beacon); });
    best = std::max(best, wins);
    const ledger::Reveal reveal{ledger::hash_chain_key(provider.head), stand->round(), value};
    refused += stand->send(provider, reveal) ? 0 : 1;
  }
  if (arm == Arm::kOpen) {
    // Without anchors any value would do: the best draw, paid outside the ledger.
    Trial trial = score.finish(works);
    const double won = static_cast<double>(best) * ticket::to_double(stand->face());
    trial.profit += won, trial.others -= won;
    return trial;
  }
  COMMENSAL_ASSIGN(Trial trial, paid(*stand, works, score));
  trial.caught = arm == Arm::kDefended && refused == kCandidates;
  return trial;
}

// A gateway looks for jobs whose tickets lose.
Result<Trial> grind_job(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kEvenWin)));
  Score score(*stand, {stand->gateway().address}, {stand->provider().address});
  double work_cost = 0;
  COMMENSAL_ASSIGN(auto works, committed(*stand, work_cost));
  Party& provider = stand->provider();
  COMMENSAL_ASSIGN(const Digest by_provider, provider.chain.reveal(stand->round()));
  COMMENSAL_ASSIGN(const Digest by_gateway, stand->gateway().chain.reveal(stand->round()));
  // It knows its own value; of the provider's only the last. And not the salt of the answer.
  const bool is_open = arm == Arm::kOpen;
  const Digest beacon = protocol::beacon_value(stand->round(), by_gateway,
                                               is_open ? by_provider : provider.head.anchor);
  for (Work& work : works) {
    Work imagined = work;
    for (int i = 0; i < kCandidates && arm != Arm::kHonest; ++i) {
      work.input_salt = stand->rng().next_digest();
      work.receipt.job.input_commitment =
          protocol::commit_input(receipt::state_root(work.inputs), work.input_salt);
      imagined = work;
      commit_again(imagined, stand->rng());
      if (!would_win(imagined, beacon)) break;
    }
    // In the control commitments have no salt of the provider's: it is what the gateway imagined.
    if (is_open) {
      work = imagined;
    } else if (arm == Arm::kDefended) {
      commit_again(work, stand->rng());
    }
  }
  COMMENSAL_ASSIGN(Trial trial, paid(*stand, works, score, Score::Buyer::kAdversary));
  trial.others -= work_cost;
  return trial;
}

// Two commitments to each step; whichever wins is claimed.
Result<Trial> equivocation(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kEvenWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, committed(*stand, score.cost));
  std::vector<Work> second = works;
  for (Work& work : second) commit_again(work, stand->rng());
  stand->sign(works);
  stand->sign(second);
  for (std::size_t i = 0; i < works.size() && arm != Arm::kOpen; ++i) {
    second[i].receipt.client = works[i].receipt.client;  // an honest client signs once
  }
  COMMENSAL_TRY(stand->draw(works));
  stand->mark_winners(second);
  COMMENSAL_ASSIGN(const std::size_t wrong, stand->settle(works, true));
  std::size_t accepted = 0;
  for (const Work& work : second) {
    if (arm == Arm::kHonest || !work.won || !stand->claim(work)) continue;
    COMMENSAL_TRY(stand->audit(work));
    ++accepted;
  }
  Trial trial = score.finish(works);
  trial.caught = arm == Arm::kDefended && accepted == 0;
  trial.accused = wrong;
  return trial;
}

// Winners are sent again once they are paid, as they were and under another job.
Result<Trial> replayed(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kEvenWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  COMMENSAL_ASSIGN(auto works, stand->serve(stand->gateway(), stand->provider(), kAnswers,
                                            stand->honest_maker(), score.cost));
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_ASSIGN(const std::size_t wrong, stand->settle(works, true));
  if (arm == Arm::kOpen) stand->forget_claims();
  std::size_t accepted = 0;
  for (const Work& work : works) {
    if (arm == Arm::kHonest || !work.won) continue;
    Work other = work;
    other.receipt.job.input_commitment = stand->rng().next_digest();
    accepted += stand->claim(other) ? 1 : 0;
    if (!stand->claim(work)) continue;
    COMMENSAL_TRY(stand->audit(work));
    ++accepted;
  }
  Trial trial = score.finish(works);
  trial.caught = arm == Arm::kDefended && accepted == 0;
  trial.accused = wrong;
  return trial;
}

const Attack kTable[] = {
    {"grind-salt", "tries 8 salts for each answer and commits to one whose ticket wins",
     "the beacon is not known before its round is closed; then no ticket of it is signed",
     "tickets are signed in rounds that are revealed", "every late ticket was refused",
     Place::kDaemons, "1", 1, grind_salt},
    {"grind-reveal", "tries 8 values and reveals the one with most winners",
     "reveals are a hash chain whose anchor was signed before", "a reveal may be any value",
     "every other value was refused", Place::kLedger, "1", 1, grind_reveal},
    {"grind-job",
     "a gateway that tries 8 jobs for each request and sends one whose ticket loses",
     "the draw depends on the provider's salt and on its reveal, which come later",
     "no salt, and the provider reveals first",
     "nothing to catch: it gains nothing",
     Place::kDaemons,
     "",
     {},
     grind_job},
    {"equivocation", "signs two commitments to each step and claims the one that wins",
     "the client signs once; one ticket for each step of a job", "a client that signs both",
     "no second commitment was accepted", Place::kLedger, "1", 1, equivocation},
    {"replay", "sends paid winners again, as they were and under another job",
     "claims are never forgotten; the job is in all that is signed",
     "a ledger that forgets its claims", "every one was refused", Place::kLedger, "1", 1, replayed},
};

}  // namespace

std::span<const Attack> draw_attacks() { return kTable; }

}  // namespace commensal::attack
