// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/lab/attack/attack.hpp>
#include <commensal/lab/attack/statistics.hpp>
#include <commensal/lab/bench/report.hpp>
#include <functional>
#include <vector>

namespace commensal::attack {

/// All intervals together miss at most once in a thousand runs (Bonferroni): each is made for
/// kFamilyError / (kIntervalsPerAttack x attacks).
inline constexpr double kFamilyError = 0.001;
inline constexpr std::size_t kIntervalsPerAttack = 3;  // catch rate, gain, the control's gain

struct Options {
  std::span<const Attack> attacks = attack_table();
  std::vector<std::string> names;  // of these; empty: all
  std::uint64_t trials = 200;
  std::uint64_t seed = 1;
  /// Called before each attack.
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

/// All trials of one arm.
struct ArmFigures {
  std::uint64_t caught = 0;
  std::uint64_t accused = 0;  // honest parties, over all trials
  // Means over trials.
  double profit = 0;
  double bad = 0;
  double bad_paid = 0;
  double loss = 0;  // of honest parties, beside the honest arm
};

struct Finding {
  const Attack* attack = nullptr;
  std::uint64_t trials = 0;
  std::array<ArmFigures, kArms> arms;
  Interval catch_rate;      // of the defended arm
  double gain = 0;          // of the adversary, defended less honest, mean over trials
  Interval gain_interval;   // likewise
  double control_gain = 0;  // the same of the control
  Interval control_gain_interval;

  const ArmFigures& arm(Arm which) const { return arms[static_cast<std::size_t>(which)]; }
  double rate() const;
  bool is_rate_outside() const;  // the formula's value lies outside the interval
  /// It pays beyond what chance explains: the gain's interval lies above 0.
  bool is_profitable() const { return gain_interval.low > 0; }
  /// With the defence off it must be seen to pay.
  bool control_fails() const { return !(control_gain_interval.low > 0); }
};

/// Plays `options.trials` trials of each attack, each arm once a trial, in one thread. Equal seeds
/// give equal findings. Errors: kNotFound for an unknown name; what a trial returns, with the
/// attack's name.
Result<std::vector<Finding>> run_attacks(Models& models, const Options& options);

/// The limits that the project sets itself, for what it has: not for Place::kDesign.
std::vector<lab::bench::Row> bars_of(std::span<const Finding> findings);

}  // namespace commensal::attack
