// SPDX-License-Identifier: Apache-2.0
// Auditors that do not audit.
#include <algorithm>
#include <cmath>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>

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

// A provider some of whose auditors are its own: accused, it says nothing, and they report for it.

constexpr std::size_t kPool = 10;
constexpr std::size_t kColluding = 3;
constexpr std::size_t kAnswers = 4;
constexpr double kWin = 0.5;

/// That a case ends in the truth: at most one of the first three of the draw is a friend.
double outvoted() {
  constexpr double kHonest = kPool - kColluding;
  const double all_honest = kHonest * (kHonest - 1) * (kHonest - 2);
  const double one_friend = 3 * kColluding * kHonest * (kHonest - 1);
  return (all_honest + one_friend) / (kPool * (kPool - 1) * (kPool - 2));
}

struct Pool {
  std::vector<const Party*> friends, others;
};

/// A stake, locked and on the list.
Result<void> enlist(Stand& stand, const Party& who) {
  const Amount& stake = stand.rules().auditor_stake;
  COMMENSAL_TRY(stand.deposit(who.address, stake));
  COMMENSAL_TRY(stand.fund(who, ledger::AccountKind::kStake, stake.low()));
  COMMENSAL_TRY(stand.send(who, ledger::Enlist{}));
  return {};
}

/// The stand's own are of it. Where nobody is drawn (open), the friends alone are on the list.
Result<Pool> pool_of(Stand& stand, Arm arm) {
  Pool pool;
  for (const Party* one : stand.outsiders()) {
    pool.others.push_back(one);
    if (arm == Arm::kOpen) COMMENSAL_TRY(stand.send(*one, ledger::Enlist{0}));
  }
  for (std::size_t i = pool.others.size(); i < kPool; ++i) {
    const Party& party = stand.join();
    const bool is_friend = pool.friends.size() < kColluding;
    (is_friend ? pool.friends : pool.others).push_back(&party);
    if (is_friend || arm != Arm::kOpen) COMMENSAL_TRY(enlist(stand, party));
  }
  return pool;
}

/// Each who is called says what it found, or what its friend has committed to.
Result<void> have_reported(Stand& stand, const Pool& pool, const Work& work,
                           const ledger::CaseKey& key) {
  COMMENSAL_ASSIGN(const Digest root, stand.replay(work));
  while (ledger::is_pending(stand.state().cases.find(key)->status)) {
    const std::vector<Address> called = stand.state().cases.find(key)->called;
    const auto speaks = [&](const std::vector<const Party*>& all, const Digest& word) {
      const auto found = std::ranges::find_if(
          all, [&](const Party* one) { return !called.empty() && one->address == called[0]; });
      if (found == all.end()) return Result<bool>(false);
      return stand.send(**found, ledger::Report{key.subject, key.accuser, word}).map([](auto&&) {
        return true;
      });
    };
    COMMENSAL_ASSIGN(const bool by_friend, speaks(pool.friends, work.output_root));
    if (by_friend) continue;
    COMMENSAL_ASSIGN(const bool by_other, speaks(pool.others, root));
    if (!by_other) return core::fail(core::ErrorCode::kInternal, "nobody is called");
  }
  return {};
}

/// The gateway accuses what is wrong, and waits.
Result<void> have_tried(Stand& stand, const Pool& pool, const Work& work, Arm arm) {
  COMMENSAL_TRY(stand.deposit(stand.gateway().address, stand.rules().accusation_bond));
  COMMENSAL_ASSIGN(const ledger::CaseKey key, stand.begin_case(work, stand.gateway()));
  COMMENSAL_TRY(stand.idle(1));  // a round that nobody knew when it accused
  stand.wait_ms(stand.rules().contest_delay_ms);
  ledger::Summon summon;
  summon.subject = key.subject, summon.accuser = key.accuser;
  COMMENSAL_TRY(stand.send(stand.book_keeper(), summon));
  COMMENSAL_TRY(have_reported(stand, pool, work, key));
  for (const Party* one : pool.others) {
    const bool is_gone = stand.state().bench.find(one->address) == nullptr;
    if (is_gone && arm != Arm::kOpen) COMMENSAL_TRY(enlist(stand, *one));
  }
  if (stand.state().cases.find(key)->status == ledger::CaseStatus::kConvicted) return {};
  return stand.mature(work);
}

Result<Trial> colluding(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  COMMENSAL_ASSIGN(const Pool pool, pool_of(*stand, arm));
  std::vector<Address> adversaries = {stand->provider().address};
  for (const Party* one : pool.friends) adversaries.push_back(one->address);
  Score score(*stand, adversaries, {stand->gateway().address});
  const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) -> Result<Made> {
    return arm == Arm::kHonest ? stand->honest(input) : stand->garbage(input);
  };
  COMMENSAL_ASSIGN(auto works,
                   stand->serve(stand->gateway(), stand->provider(), kAnswers, maker, score.cost));
  COMMENSAL_TRY(stand->draw(works));
  for (const Work& work : works) {
    if (work.won) COMMENSAL_TRY(stand->claim(work));
  }
  for (const Work& work : works) {
    if (!work.won) continue;
    COMMENSAL_TRY(work.is_bad ? have_tried(*stand, pool, work, arm)
                              : stand->confirm(work, stand->auditor()));
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
    {"colluding-auditor", "makes answers up, is silent; 3 of the 10 auditors are its own",
     "who reports is drawn, by a round that was not drawn when it was accused",
     "its own are the only ones on the list", "its provider was convicted", Place::kLedger,
     "1 - (1 - p q)^n, q: one friend at most of three that are drawn of 10, p 0.5, n 4",
     1 - std::pow(1 - kWin * outvoted(), static_cast<double>(kAnswers)), colluding},
};

}  // namespace

std::span<const Attack> auditor_attacks() { return kTable; }

}  // namespace commensal::attack
