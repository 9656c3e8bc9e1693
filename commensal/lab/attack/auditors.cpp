// SPDX-License-Identifier: Apache-2.0
// Auditors that do not audit.
#include <algorithm>
#include <cmath>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/market/panel/terms.hpp>

namespace commensal::attack {
namespace {

using protocol::Outcome;

constexpr std::size_t kAudits = 6;
constexpr std::uint64_t kFee = 90;    // of an audit that costs a step, 80
constexpr double kTrap = 0.25;        // of the answers that are shown are wrong on purpose
constexpr double kTrapPenalty = 500;  // of an auditor that passes one, out of its bond

/// A stand on which audits are worth doing, with winners of an honest provider.
struct Docket {
  std::unique_ptr<Stand> stand;
  const Party* second = nullptr;  // another auditor, honest
  std::vector<Work> works;
};

Result<Docket> docket_of(Models& models, std::uint64_t seed) {
  Stand::Terms terms = Stand::terms(1);
  terms.rules.auditor_fee = Amount(kFee);
  Docket docket;
  COMMENSAL_ASSIGN(docket.stand, Stand::open(models, seed, terms));
  Stand& stand = *docket.stand;
  docket.second = &stand.join();
  COMMENSAL_TRY(stand.admit(*docket.second));
  double cost = 0;
  COMMENSAL_ASSIGN(docket.works, stand.serve(stand.gateway(), stand.provider(), kAudits,
                                             stand.honest_maker(), cost));
  COMMENSAL_TRY(stand.draw(docket.works));
  for (const Work& work : docket.works) COMMENSAL_TRY(stand.claim(work));
  return docket;
}

/// What the client finds by the root that an auditor returns and the salt that it was not shown.
Outcome compared(const Stand& stand, const Work& work, const Digest& root) {
  return receipt::judge(work.receipt.body(), root, work.output_salt, stand.auditor().key).outcome;
}

std::uint64_t mismatches_of(const Stand& stand, const Party& provider) {
  const ledger::AuditRecord* record = stand.state().audits.find(provider.address);
  return record == nullptr ? 0 : record->mismatches;
}

// Says that all is well, without looking.
Result<Trial> lazy(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(Docket docket, docket_of(models, seed));
  Stand& stand = *docket.stand;
  Score score(stand, {stand.auditor().address},
              {stand.gateway().address, stand.provider().address});
  std::size_t exposed = 0;
  for (const Work& work : docket.works) {
    Digest root{};
    if (arm == Arm::kHonest) {
      COMMENSAL_ASSIGN(root, stand.replay(work));
    } else {
      // Without a salt the root would stand in the commitment, for anyone to return.
      root = arm == Arm::kOpen ? work.output_root : stand.rng().next_digest();
    }
    score.cost += arm == Arm::kHonest ? price::kStep : price::kGarbage;
    const Outcome outcome = compared(stand, work, root);
    if (outcome == Outcome::kMatch) {
      COMMENSAL_TRY(stand.confirm(work, stand.auditor()));
      continue;
    }
    // A second auditor, before anybody is accused; who is refuted has no fee.
    COMMENSAL_ASSIGN(const Digest again, stand.replay(work));
    if (compared(stand, work, again) != Outcome::kMatch) {
      COMMENSAL_TRY(stand.accuse(work, *docket.second, again));
      continue;
    }
    COMMENSAL_TRY(stand.confirm(work, *docket.second));
    ++exposed;
  }
  Trial trial = score.finish({});
  trial.caught = exposed == kAudits;
  trial.accused = mismatches_of(stand, stand.provider());
  return trial;
}

// Has been told the root (answers are no secret of their provider's), and returns it.
Result<Trial> parrot(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(Docket docket, docket_of(models, seed));
  Stand& stand = *docket.stand;
  Score score(stand, {stand.auditor().address},
              {stand.gateway().address, stand.provider().address});
  std::size_t trapped = 0;
  for (const Work& work : docket.works) {
    // A trap: an answer that the client made up, of a step whose right answer it knows.
    const bool is_trap = arm != Arm::kOpen && stand.rng().next_unit() < kTrap;
    Work shown = work;
    if (is_trap) {
      COMMENSAL_ASSIGN(const Made wrong, stand.garbage(work.inputs));
      COMMENSAL_ASSIGN(shown,
                       stand.commit(stand.gateway(), stand.provider(), work.inputs, wrong.outputs));
    }
    Digest root = shown.output_root;
    if (arm == Arm::kHonest) {
      COMMENSAL_ASSIGN(root, stand.replay(shown));
    }
    score.cost += arm == Arm::kHonest ? price::kStep : price::kGarbage;
    const bool is_passed = compared(stand, shown, root) == Outcome::kMatch;
    if (is_trap && is_passed) {
      ++trapped;
      score.cost += kTrapPenalty;
      continue;
    }
    // A trap that was seen is paid like any other audit.
    COMMENSAL_TRY(stand.confirm(work, stand.auditor()));
  }
  Trial trial = score.finish({});
  trial.caught = trapped > 0;
  trial.accused = arm == Arm::kHonest ? trapped : mismatches_of(stand, stand.provider());
  return trial;
}

// A provider some of whose auditors are its own.

constexpr std::size_t kPool = 10;
constexpr std::size_t kColluding = 3;  // the first ones
constexpr double kSecond = 0.25;       // probability of a second auditor
constexpr std::size_t kAnswers = 4;
constexpr double kWin = 0.5;

/// That a wrong winner is found: by the first auditor drawn, or by a second one.
double found_by_somebody() {
  const double first = static_cast<double>(kColluding) / kPool;
  const double second = static_cast<double>(kColluding - 1) / (kPool - 1);
  return 1 - first * (1 - kSecond + kSecond * second);
}

struct Pool {
  std::vector<Address> members;                           // ascending
  std::vector<std::pair<Address, const Party*>> parties;  // the colluding ones first
};

Result<Pool> pool_of(Stand& stand) {
  Pool pool;
  for (std::size_t i = 0; i < kPool; ++i) {
    const Party& party = stand.join();
    COMMENSAL_TRY(stand.admit(party));
    pool.members.push_back(party.address);
    pool.parties.emplace_back(party.address, &party);
  }
  std::ranges::sort(pool.members);
  return pool;
}

/// The auditors of one winner: drawn by the beacon's next round, or chosen by the provider.
Result<std::vector<std::size_t>> auditors_of(Stand& stand, const Pool& pool, const Work& work,
                                             Arm arm) {
  if (arm == Arm::kOpen) return std::vector<std::size_t>{0};
  COMMENSAL_ASSIGN(const Digest ours, stand.gateway().chain.reveal(stand.round() - 1));
  COMMENSAL_ASSIGN(const Digest theirs, stand.provider().chain.reveal(stand.round() - 1));
  const Digest beacon = protocol::beacon_value(stand.round() - 1, ours, theirs);
  const std::size_t count = stand.rng().next_unit() < kSecond ? 2 : 1;
  std::vector<std::size_t> drawn;
  for (const Address& member : panel::draw_members(protocol::receipt_id(work.receipt.body()), 1,
                                                   beacon, pool.members, count)) {
    const auto found =
        std::ranges::find(pool.parties, member, &std::pair<Address, const Party*>::first);
    drawn.push_back(static_cast<std::size_t>(found - pool.parties.begin()));
  }
  return drawn;
}

/// Who finds something else accuses; a winner that nobody accuses is paid by the word of the first.
Result<void> have_audited(Stand& stand, const Pool& pool, const Work& work,
                          std::span<const std::size_t> auditors, Arm arm) {
  for (const std::size_t auditor : auditors) {
    if (auditor < kColluding && arm != Arm::kHonest) continue;  // all is well, it says
    COMMENSAL_ASSIGN(const Digest root, stand.replay(work));
    if (compared(stand, work, root) == Outcome::kMatch) continue;
    COMMENSAL_TRY(stand.accuse(work, *pool.parties[auditor].second, root));
    return {};
  }
  return stand.confirm(work, *pool.parties[auditors.front()].second);
}

Result<Trial> colluding(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  COMMENSAL_ASSIGN(const Pool pool, pool_of(*stand));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) -> Result<Made> {
    return arm == Arm::kHonest ? stand->honest(input) : stand->garbage(input);
  };
  COMMENSAL_ASSIGN(auto works,
                   stand->serve(stand->gateway(), stand->provider(), kAnswers, maker, score.cost));
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_TRY(stand->idle(1));  // nobody knew this round when the winners were claimed
  for (const Work& work : works) {
    if (!work.won) continue;
    COMMENSAL_TRY(stand->claim(work));
    COMMENSAL_ASSIGN(const auto auditors, auditors_of(*stand, pool, work, arm));
    COMMENSAL_TRY(have_audited(*stand, pool, work, auditors, arm));
  }
  Trial trial = score.finish(works);
  trial.caught = mismatches_of(*stand, stand->provider()) > 0;
  trial.accused = arm == Arm::kHonest && trial.caught ? 1 : 0;
  return trial;
}

const Attack kTable[] = {
    {"lazy-auditor", "an auditor that says all is well without computing",
     "it must return the root itself, which a salted commitment does not show",
     "commitments without a salt", "a second auditor refuted every answer of its", Place::kDesign,
     "1", 1, lazy},
    {"parrot-auditor", "likewise, but somebody told it the root",
     "traps: a quarter of what it is shown is wrong, and the client knows", "no traps",
     "it passed a trap", Place::kDesign, "1 - (1 - t)^n, t 0.25, n 6",
     1 - std::pow(1 - kTrap, static_cast<double>(kAudits)), parrot},
    {"colluding-auditor", "makes answers up; 3 of the 10 auditors are its own",
     "the beacon draws the auditor, and a second one with probability 0.25",
     "the provider chooses its auditor", "its provider was convicted", Place::kDesign,
     "1 - (1 - p q)^n, q = 1 - m/M (1 - s + s (m-1)/(M-1)), p 0.5, n 4",
     1 - std::pow(1 - kWin * found_by_somebody(), static_cast<double>(kAnswers)), colluding},
};

}  // namespace

std::span<const Attack> auditor_attacks() { return kTable; }

}  // namespace commensal::attack
