// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/lab/attack/runner.hpp>

namespace commensal::attack {
namespace {

/// The same for all arms of a trial, another for each attack, whichever others run.
std::uint64_t seed_of(std::uint64_t seed, const Attack& attack, std::uint64_t trial) {
  protocol::Writer writer;
  writer.u64(seed);
  writer.u64(trial);
  const core::Digest hash =
      crypto::tagged_hash("commensal/lab-attack/v1", writer.written(), core::as_bytes(attack.name));
  std::uint64_t made = 0;
  for (int i = 0; i < 8; ++i) made = made << 8 | hash[static_cast<std::size_t>(i)];
  return made;
}

Result<std::vector<const Attack*>> chosen(const Options& options) {
  std::vector<const Attack*> rows;
  for (const Attack& attack : options.attacks) {
    const bool is_asked_for = options.names.empty() ||
                              std::ranges::find(options.names, attack.name) != options.names.end();
    if (is_asked_for) rows.push_back(&attack);
  }
  for (const std::string& name : options.names) {
    const bool is_known = std::ranges::any_of(
        options.attacks, [&](const Attack& attack) { return attack.name == name; });
    if (is_known) continue;
    return core::fail(core::ErrorCode::kNotFound,
                      "attack: there is no '{}'; `commensal-lab attack --list` lists them", name);
  }
  return rows;
}

void add(ArmFigures& figures, const Trial& trial, const Trial& honest, double share) {
  figures.caught += trial.caught ? 1 : 0;
  figures.accused += trial.accused;
  figures.profit += share * trial.profit;
  figures.bad += share * trial.bad;
  figures.bad_paid += share * trial.bad_paid;
  figures.loss += share * (honest.others - trial.others);
}

Result<Finding> run(Models& models, const Attack& attack, const Options& options, double alpha) {
  Finding finding;
  finding.attack = &attack;
  finding.trials = options.trials;
  const double share = 1 / static_cast<double>(options.trials);
  std::vector<double> gains, control_gains;
  for (std::uint64_t i = 0; i < options.trials; ++i) {
    std::array<Trial, kArms> trials;
    for (std::size_t arm = 0; arm < kArms; ++arm) {
      auto played = attack.play(models, static_cast<Arm>(arm), seed_of(options.seed, attack, i));
      if (!played) {
        return core::fail(played.error().code, "{}, trial {}, arm {}: {}", attack.name, i, arm,
                          played.error().message);
      }
      trials[arm] = *played;
    }
    for (std::size_t arm = 0; arm < kArms; ++arm) {
      add(finding.arms[arm], trials[arm], trials[0], share);
    }
    gains.push_back(trials[1].profit - trials[0].profit);
    control_gains.push_back(trials[2].profit - trials[0].profit);
  }
  finding.catch_rate = clopper_pearson(finding.arm(Arm::kDefended).caught, options.trials, alpha);
  finding.gain = mean_of(gains);
  finding.gain_interval = mean_interval(gains, alpha);
  finding.control_gain = mean_of(control_gains);
  finding.control_gain_interval = mean_interval(control_gains, alpha);
  return finding;
}

template <class Count>
lab::bench::Row bar(std::string_view name, std::span<const Finding> findings, const Count& count) {
  lab::bench::Row made{.name = std::string(name), .limit = 0, .at_most = true};
  std::size_t counted = 0;
  for (const Finding& finding : findings) {
    if (finding.attack->place == Place::kDesign) continue;
    ++counted;
    const double value = count(finding);
    made.value += value;
    if (value > 0)
      made.how += fmt::format("{}{}", made.how.empty() ? "" : ", ", finding.attack->name);
  }
  made.low = made.high = made.value;
  if (made.how.empty()) {
    made.how = fmt::format("{} attacks, {} designs aside", counted, findings.size() - counted);
  }
  return made;
}

}  // namespace

double Finding::rate() const {
  return static_cast<double>(arm(Arm::kDefended).caught) / static_cast<double>(trials);
}

bool Finding::is_rate_outside() const {
  const auto& expected = attack->rate;
  return expected && (*expected < catch_rate.low || *expected > catch_rate.high);
}

Result<std::vector<Finding>> run_attacks(Models& models, const Options& options) {
  COMMENSAL_ASSIGN(const auto rows, chosen(options));
  const double alpha = kFamilyError / static_cast<double>(kIntervalsPerAttack * rows.size());
  std::vector<Finding> findings;
  for (const Attack* attack : rows) {
    options.progress(findings.size(), rows.size());
    COMMENSAL_ASSIGN(findings.emplace_back(), run(models, *attack, options, alpha));
  }
  return findings;
}

std::vector<lab::bench::Row> bars_of(std::span<const Finding> findings) {
  return {bar("false_accusations", findings,
              [](const Finding& finding) {
                // With the defence off the accusation may be what the attack is about.
                return static_cast<double>(finding.arm(Arm::kHonest).accused +
                                           finding.arm(Arm::kDefended).accused);
              }),
          bar("attacks_profitable", findings,
              [](const Finding& finding) { return finding.is_profitable() ? 1.0 : 0.0; }),
          bar("catch_rates_outside_interval", findings,
              [](const Finding& finding) { return finding.is_rate_outside() ? 1.0 : 0.0; }),
          bar("controls_that_fail_to_succeed", findings,
              [](const Finding& finding) { return finding.control_fails() ? 1.0 : 0.0; })};
}

}  // namespace commensal::attack
