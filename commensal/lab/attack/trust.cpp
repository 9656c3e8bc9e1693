// SPDX-License-Identifier: Apache-2.0
// Cheats that wait: for trust, or for a pardon.
#include <cmath>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/market/risk/desk.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>

namespace commensal::attack {
namespace {

constexpr std::size_t kHistory = 100;  // audits passed before: the desk was told of them
constexpr std::size_t kTrust = 4;      // right answers at first
constexpr std::size_t kCheats = 16;    // then as many wrong ones, until one is found

/// A desk on which every answer is paid at once, unless it is audited and wrong. What a cheat loses
/// is what the ledger takes for a first mismatch: it leaves after that.
risk::Policy policy() {
  risk::Policy policy;
  policy.collusion = 0;
  policy.lost_share = ledger::kIsolatedMismatchPm / 1000.0;
  policy.lazy = {price::kStep, price::kGarbage, price::kPay, true};
  policy.malice = {};
  return policy;
}

/// All that the desk is told of the provider.
class Desk {
 public:
  explicit Desk(const Address& provider) : provider_(provider), record_(provider, {}) {
    tell(risk::EventKind::kStake).amount = Amount(price::kStake);
    apply();
    for (std::size_t i = 0; i < kHistory; ++i) {
      on_answer();
      on_audit(protocol::Outcome::kMatch);
    }
  }
  void on_answer() {
    tell(risk::EventKind::kAnswers).count = 1;
    apply();
  }
  void on_audit(protocol::Outcome outcome) {
    tell(risk::EventKind::kAudit).outcome = outcome;
    apply();
    is_all_right_ = is_all_right_ && outcome == protocol::Outcome::kMatch;
  }
  double probability() const { return risk::audit_probability(record_, policy(), 0).value; }
  /// BOINC: always below 10 valid results in a row, else one in as many as there are.
  double by_replication() const {
    const auto valid = is_all_right_ ? static_cast<double>(record_.counts().matches) : 0;
    constexpr double kEnough = 10;
    return valid < kEnough ? 1 : 1 / valid;
  }

 private:
  risk::Event& tell(risk::EventKind kind) {
    event_ = {};
    event_.provider = provider_;
    event_.number = number_++;
    event_.at_ms = 1;
    event_.kind = kind;
    return event_;
  }
  void apply() { core::check(record_.apply(event_).has_value(), "an event in its order"); }

  Address provider_;
  risk::Record record_;
  risk::Event event_;
  std::uint64_t number_ = 0;
  bool is_all_right_ = true;
};

/// One answer, paid at once or audited. Whether it was found wrong.
Result<bool> one_answer(Stand& stand, Desk& desk, const Maker& maker, double probability,
                        std::vector<Work>& works, Score& score) {
  COMMENSAL_ASSIGN(auto made, stand.serve(stand.gateway(), stand.provider(), 1, maker, score.cost));
  COMMENSAL_TRY(stand.draw(made));
  desk.on_answer();
  const bool is_audited = stand.rng().next_unit() < probability;
  COMMENSAL_ASSIGN(const std::size_t wrong, stand.settle(made, is_audited));
  if (is_audited) {
    desk.on_audit(wrong == 0 ? protocol::Outcome::kMatch : protocol::Outcome::kMismatch);
  }
  works.push_back(std::move(made.front()));
  return wrong > 0;
}

Result<Trial> trusted(Models& models, Arm arm, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(1)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  Desk desk(stand->provider().address);
  std::vector<Work> works;
  bool is_caught = false;
  for (std::size_t i = 0; i < kTrust + kCheats && !is_caught; ++i) {
    const bool cheats = i >= kTrust && arm != Arm::kHonest;
    const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) {
      return cheats ? stand->garbage(input) : stand->honest(input);
    };
    const double probability = arm == Arm::kOpen ? desk.by_replication() : desk.probability();
    COMMENSAL_ASSIGN(is_caught, one_answer(*stand, desk, maker, probability, works, score));
  }
  Trial trial = score.finish(works);
  trial.caught = is_caught;
  trial.accused = arm == Arm::kHonest && is_caught ? 1 : 0;
  return trial;
}

double caught_by_desk() {
  core::CounterRng rng(1);
  const double each = Desk(crypto::SecretKey::generate(rng).address()).probability();
  return 1 - std::pow(1 - each, static_cast<double>(kCheats));
}

// Cheats as long as nothing is held against it, then works until the ledger has forgotten.

constexpr std::size_t kRounds = 12;
constexpr std::size_t kAnswers = 4;  // in a round, one of them wrong
constexpr double kWin = 0.5;
constexpr std::uint32_t kPardon = 5;     // right winners in a row; the ledger's default is 1000
constexpr double kSeldomAudited = 0.01;  // in the control

Result<Trial> pardoned(Models& models, Arm arm, std::uint64_t seed) {
  Stand::Terms terms = Stand::terms(kWin);
  terms.rules.pardon_matches = kPardon;
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, terms));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  std::vector<Work> works;
  std::size_t wrong = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const bool is_clean = stand->state().audits.get(stand->provider().address).mismatches == 0;
    const bool cheats = arm != Arm::kHonest && is_clean;
    const Maker maker = [&](std::size_t i, const tensor::NamedTensors& input) {
      return cheats && i == 0 ? stand->garbage(input) : stand->honest(input);
    };
    COMMENSAL_ASSIGN(
        auto made, stand->serve(stand->gateway(), stand->provider(), kAnswers, maker, score.cost));
    COMMENSAL_TRY(stand->draw(made));
    for (const Work& work : made) {
      const bool is_audited = arm != Arm::kOpen || stand->rng().next_unit() < kSeldomAudited;
      COMMENSAL_ASSIGN(const std::size_t found, stand->settle({&work, 1}, is_audited));
      wrong += found;
    }
    works.insert(works.end(), made.begin(), made.end());
  }
  Trial trial = score.finish(works);
  trial.caught = wrong > 0;
  trial.accused = arm == Arm::kHonest ? wrong : 0;
  return trial;
}

const std::vector<Attack>& table() {
  static const std::vector<Attack> kTable = {
      {"trust-then-cheat", "has passed 100 audits; then makes things up until it is found",
       "the desk's audit probability follows from the stake; no trust lowers it",
       "adaptive replication: the longer it was right, the more seldom it is audited",
       "its provider was convicted", Place::kRooms, "1 - (1 - p)^b, p the desk's, b 16",
       caught_by_desk(), trusted},
      {"pardon-waiting", "cheats until it is found, works until that is forgotten, cheats again",
       "a wrong answer is not paid, and costs the stake, or half of it: each cheat is a loss",
       "only one winner in 100 is audited", "its provider was convicted", Place::kDaemons,
       "1 - (1 - p)^n, p 0.5, n 12", 1 - std::pow(1 - kWin, static_cast<double>(kRounds)),
       pardoned},
  };
  return kTable;
}

}  // namespace

std::span<const Attack> trust_attacks() { return table(); }

}  // namespace commensal::attack
