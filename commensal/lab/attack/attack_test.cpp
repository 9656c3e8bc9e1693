// SPDX-License-Identifier: Apache-2.0
// The laboratory itself: its statistics, its bars, its accusations, and that a seed is all it
// depends on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/report.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <set>
#include <utility>

namespace commensal::attack {
namespace {

core::Path models_folder() { return core::Path(COMMENSAL_SOURCE_DIR) / "models"; }

std::vector<Finding> findings_of(const Options& options) {
  auto models = Models::load(models_folder());
  EXPECT_TRUE(models) << models.error().message;
  auto findings = run_attacks(**models, options);
  EXPECT_TRUE(findings) << findings.error().message;
  return findings ? *findings : std::vector<Finding>();
}

double bar(const std::vector<lab::bench::Row>& bars, std::string_view name) {
  for (const lab::bench::Row& each : bars) {
    if (each.name == name) return each.value;
  }
  ADD_FAILURE() << name;
  return -1;
}

std::string json_of(std::span<const Finding> findings, const Options& options) {
  return lab::bench::to_json(report_of(findings, options));
}

const Attack kAttack{"an attack", "", "", "", "", Place::kRooms, "0.5", 0.5, nullptr};

/// What is well: caught as often as expected, at a loss, and a control that pays.
Finding sound() {
  Finding finding;
  finding.attack = &kAttack;
  finding.trials = 100;
  finding.arms[1].caught = 50;
  finding.catch_rate = {0.3, 0.7};
  finding.gain_interval = {-2, 0.5};
  finding.control_gain_interval = {1, 2};
  return finding;
}

TEST(AttackStatistics, IntervalsOfProbabilities) {
  // Clopper, Pearson; values of R 4.2 binom.test(10, 100)$conf.int.
  const Interval tenth = clopper_pearson(10, 100, 0.05);
  EXPECT_NEAR(tenth.low, 0.0490047, 1e-6);
  EXPECT_NEAR(tenth.high, 0.1762226, 1e-6);
  // All or none: closed forms.
  EXPECT_NEAR(clopper_pearson(200, 200, 0.001).low, std::pow(0.0005, 1 / 200.0), 1e-12);
  EXPECT_EQ(clopper_pearson(200, 200, 0.001).high, 1);
  EXPECT_EQ(clopper_pearson(0, 200, 0.001).low, 0);
}

TEST(AttackStatistics, IntervalsOfMeans) {
  const std::vector<double> values = {1, 2, 3, 4};
  EXPECT_EQ(mean_of(values), 2.5);
  // t(3) at 97.5 % is 3.182446; the standard error sqrt(5/3/4).
  EXPECT_NEAR(mean_interval(values, 0.05).high, 2.5 + 3.182446 * std::sqrt(5.0 / 12), 1e-6);
  const std::vector<double> one = {7};
  EXPECT_TRUE(std::isinf(mean_interval(one, 0.05).low));
  const std::vector<double> same(10, 3.0);
  EXPECT_EQ(mean_interval(same, 0.001).low, 3);
}

TEST(AttackBars, CountWhatIsWrong) {
  std::vector<Finding> findings(5, sound());
  for (const lab::bench::Row& each : bars_of(findings)) EXPECT_TRUE(each.ok()) << each.name;
  findings[0].arms[0].accused = 2;
  findings[1].arms[1].accused = 1;
  findings[1].arms[2].accused = 9;  // with the defence off: perhaps what the attack is about
  findings[2].gain_interval = {0.1, 3};
  findings[3].catch_rate = {0.51, 0.7};
  findings[4].control_gain_interval = {-1, 2};
  const auto bars = bars_of(findings);
  EXPECT_EQ(bar(bars, "false_accusations"), 3);
  EXPECT_EQ(bar(bars, "attacks_profitable"), 1);
  EXPECT_EQ(bar(bars, "catch_rates_outside_interval"), 1);
  EXPECT_EQ(bar(bars, "controls_that_fail_to_succeed"), 1);
}

TEST(AttackBars, LeaveDesignsAside) {
  Attack design = kAttack;
  design.place = Place::kDesign;
  Finding finding = sound();
  finding.attack = &design;
  finding.arms[1].accused = 1;
  finding.gain_interval = {1, 3};
  finding.catch_rate = {0.6, 0.7};
  finding.control_gain_interval = {-1, 2};
  const std::vector<Finding> findings = {sound(), finding};
  for (const lab::bench::Row& each : bars_of(findings)) {
    EXPECT_TRUE(each.ok()) << each.name;
    EXPECT_EQ(each.how, "1 attacks, 1 designs aside");
  }
}

TEST(AttackTable, EveryRowSaysWhatItIs) {
  std::set<std::string_view> names;
  for (const Attack& attack : attack_table()) {
    EXPECT_TRUE(names.insert(attack.name).second) << attack.name;
    for (const auto text : {attack.what, attack.defence, attack.control, attack.caught}) {
      EXPECT_FALSE(text.empty()) << attack.name;
    }
    EXPECT_EQ(attack.formula.empty(), !attack.rate) << attack.name;
    EXPECT_TRUE(!attack.rate || (*attack.rate > 0 && *attack.rate <= 1)) << attack.name;
  }
  EXPECT_GE(names.size(), 20u);
}

TEST(AttackTable, AnUnknownNameIsRefused) {
  auto models = Models::load(models_folder());
  ASSERT_TRUE(models);
  const auto findings = run_attacks(**models, {.names = {"telepathy"}, .trials = 1});
  ASSERT_FALSE(findings);
  EXPECT_NE(findings.error().message.find("there is no 'telepathy'"), std::string::npos);
}

/// A stand with one answer, a wrong one or not.
class AttackStand : public ::testing::Test {
 protected:
  void serve(bool is_bad) {
    stand_ = *Stand::open(*models_, 1, Stand::terms(1));
    const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) {
      return is_bad ? stand_->garbage(input) : stand_->honest(input);
    };
    double cost = 0;
    const auto works = stand_->serve(stand_->gateway(), stand_->provider(), 1, maker, cost);
    ASSERT_TRUE(works) << works.error().message;
    work_ = works->front();
    ASSERT_EQ(work_.is_bad, is_bad);
  }
  std::uint64_t balance(const Party& who, ledger::AccountKind kind) const {
    return stand_->state().balance(who.address, kind).low();
  }

  const std::unique_ptr<Models> models_ = *Models::load(models_folder());
  std::unique_ptr<Stand> stand_;
  Work work_;
};

TEST_F(AttackStand, WhateverACheatPleadsItIsConvicted) {
  for (const Plea plea : {Plea::kConcede, Plea::kContest, Plea::kSilence}) {
    serve(true);
    const auto root = stand_->replay(work_);
    ASSERT_TRUE(root) << root.error().message;
    const auto convicted = stand_->accuse(work_, stand_->auditor(), *root, plea);
    ASSERT_TRUE(convicted) << convicted.error().message;
    EXPECT_TRUE(*convicted);
    EXPECT_EQ(balance(stand_->provider(), ledger::AccountKind::kStake), 0u);
    EXPECT_EQ(balance(stand_->auditor(), ledger::AccountKind::kAvailable),
              price::kBond + price::kBounty);
  }
}

TEST_F(AttackStand, AFalseAccusationLosesItsBond) {
  serve(false);
  const auto convicted = stand_->accuse(work_, stand_->auditor(), Digest{1});
  ASSERT_TRUE(convicted) << convicted.error().message;
  EXPECT_FALSE(*convicted);
  EXPECT_EQ(balance(stand_->provider(), ledger::AccountKind::kStake), price::kStake);
  EXPECT_EQ(balance(stand_->provider(), ledger::AccountKind::kAvailable), price::kBond / 2);
  EXPECT_EQ(balance(stand_->auditor(), ledger::AccountKind::kAvailable), 0u);
}

// Who accuses a wrong answer by another wrong one gets nothing, and loses the bond too.
TEST_F(AttackStand, TwoLiarsBothLose) {
  serve(true);
  const auto convicted = stand_->accuse(work_, stand_->auditor(), Digest{1}, Plea::kContest);
  ASSERT_TRUE(convicted) << convicted.error().message;
  EXPECT_TRUE(*convicted);
  EXPECT_EQ(balance(stand_->provider(), ledger::AccountKind::kStake), 0u);
  EXPECT_EQ(balance(stand_->auditor(), ledger::AccountKind::kAvailable), 0u);
}

// Every row runs, and an honest trial harms nobody. Three trials bound no rate and no gain.
TEST(SimAttack, AllOfThemBrieflyAndTheSameAgain) {
  const Options options{.names = {}, .trials = 3, .seed = 13};
  const auto findings = findings_of(options);
  ASSERT_EQ(findings.size(), attack_table().size());
  const auto bars = bars_of(findings);
  EXPECT_EQ(bar(bars, "false_accusations"), 0);
  EXPECT_EQ(bar(bars, "attacks_profitable"), 0);
  EXPECT_EQ(bar(bars, "catch_rates_outside_interval"), 0);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.arm(Arm::kDefended).accused, 0u) << finding.attack->name;
    EXPECT_EQ(finding.arm(Arm::kHonest).bad, 0) << finding.attack->name;
    EXPECT_EQ(finding.arm(Arm::kHonest).accused, 0u) << finding.attack->name;
    EXPECT_GT(finding.control_gain, finding.gain) << finding.attack->name;
  }
  const std::string report = json_of(findings, options);
  EXPECT_EQ(json_of(findings_of(options), options), report);
  EXPECT_NE(json_of(findings_of({.names = {}, .trials = 3, .seed = 14}), options), report);
}

// Attacks whose trials are cheap, so that there can be enough of them for the bars to say
// something.
constexpr std::uint64_t kEnough = 120;
constexpr std::string_view kCheap[] = {
    "bfloat16",       "selective-claims", "grind-salt",      "grind-reveal",  "withheld-reveal",
    "withheld-round", "free-credit",      "framing-by-seed", "self-settling", "forced-errors"};

TEST(SimAttack, CheapOnesOftenEnoughToFail) {
  const auto findings =
      findings_of({.names = {std::begin(kCheap), std::end(kCheap)}, .trials = kEnough, .seed = 22});
  ASSERT_EQ(findings.size(), std::size(kCheap));
  for (const lab::bench::Row& each : bars_of(findings)) {
    EXPECT_TRUE(each.ok()) << each.name << ": " << each.how;
  }
}

/// That attack on a system that lacks its defence, and does not know.
template <std::size_t kAt>
Result<Trial> undefended(Models& models, Arm arm, std::uint64_t seed) {
  const auto row = std::ranges::find(attack_table(), kCheap[kAt], &Attack::name);
  return row->play(models, arm == Arm::kDefended ? Arm::kOpen : arm, seed);
}

template <std::size_t... kAt>
std::vector<Attack> undefended_ones(std::index_sequence<kAt...>) {
  std::vector<Attack> made;
  for (const Attack& each : attack_table()) {
    const auto at = std::ranges::find(kCheap, each.name);
    if (at == std::end(kCheap)) continue;
    static constexpr decltype(Attack::play) kPlays[] = {&undefended<kAt>...};
    made.push_back(each);
    made.back().play = kPlays[at - std::begin(kCheap)];
  }
  return made;
}

TEST(SimAttack, FailTheBarsWithoutTheirDefence) {
  const auto attacks = undefended_ones(std::make_index_sequence<std::size(kCheap)>());
  const auto findings =
      findings_of({.attacks = attacks, .names = {}, .trials = kEnough, .seed = 22});
  ASSERT_EQ(findings.size(), std::size(kCheap));
  for (const Finding& finding : findings) {
    EXPECT_TRUE(finding.is_profitable()) << finding.attack->name;
  }
  for (const lab::bench::Row& each : bars_of(findings)) {
    EXPECT_EQ(each.ok(), each.name == "controls_that_fail_to_succeed") << each.name;
  }
}

TEST(SimAttack, AnAttackDoesNotDependOnWhichOthersAreTried) {
  const auto alone = findings_of({.names = {"equivocation"}, .trials = 4, .seed = 5});
  const auto beside = findings_of({.names = {"replay", "equivocation"}, .trials = 4, .seed = 5});
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(beside.size(), 2u);
  EXPECT_EQ(beside[0].attack->name, "equivocation");  // the table's order
  EXPECT_EQ(alone[0].control_gain, beside[0].control_gain);
}

}  // namespace
}  // namespace commensal::attack
