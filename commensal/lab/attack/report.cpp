// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/report.hpp>
#include <limits>

namespace commensal::attack {

using lab::bench::Fields;
using lab::bench::Report;

namespace {

std::string_view name_of(Place place) {
  static constexpr std::string_view kNames[] = {"daemons", "ledger", "rooms", "design"};
  return kNames[static_cast<std::size_t>(place)];
}

constexpr std::string_view kHeading =
    "Each attack was tried {} times, from seed {}: honestly, against the defence, with it off.\n"
    "gain: what the adversary has from a trial beyond the same work done honestly, in units\n"
    "(an honest step costs {:.0f} and earns {:.0f}), with its interval at a familywise 99.9 %\n"
    "(Student's t, Bonferroni over all attacks); caught: exact interval of the same kind\n"
    "(Clopper-Pearson) beside its formula's value; bad: wrong answers delivered in a trial and,\n"
    "of those, paid for; loss: of the honest parties, in units a trial; where the defence is:\n"
    "the daemons' parts, the ledger's rules, rooms without the daemons, or a design that only "
    "this\n"
    "laboratory plays, which counts for no bar.\n\n";

std::string between(const Interval& interval, int digits) {
  return fmt::format("{:.{}f} to {:.{}f}", interval.low, digits, interval.high, digits);
}

std::string row_text(const Finding& finding) {
  const Attack& attack = *finding.attack;
  const ArmFigures& arm = finding.arm(Arm::kDefended);
  const bool is_ok =
      !finding.is_profitable() && !finding.is_rate_outside() && !finding.control_fails();
  return fmt::format(
      "{:<5}{:<20} {:<8} {:>6.3f} {:<15} {:>7} {:>8.0f} {:<17} {:>8.0f} {:<17} "
      "{:>5.1f} {:>5.1f} {:>7.0f} {:>3}\n",
      is_ok ? "ok" : "MISS", attack.name, name_of(attack.place), finding.rate(),
      between(finding.catch_rate, 3),
      attack.rate ? fmt::format("{:.3f}", *attack.rate) : std::string("-"), finding.gain,
      between(finding.gain_interval, 0), finding.control_gain,
      between(finding.control_gain_interval, 0), arm.bad, arm.bad_paid, arm.loss,
      finding.arm(Arm::kHonest).accused + arm.accused);
}

std::vector<double> pair_of(const Interval& interval) { return {interval.low, interval.high}; }

Fields fields_of(const ArmFigures& arm, std::uint64_t trials) {
  return {{"caught", arm.caught},   {"trials", trials},         {"profit", arm.profit},
          {"bad_answers", arm.bad}, {"bad_paid", arm.bad_paid}, {"honest_loss", arm.loss},
          {"accused", arm.accused}};
}

Fields fields_of(const Finding& finding) {
  const Attack& attack = *finding.attack;
  const auto text = [](std::string_view words) { return std::string(words); };
  return {{"name", text(attack.name)},
          {"what", text(attack.what)},
          {"defence", text(attack.defence)},
          {"where", text(name_of(attack.place))},
          {"control", text(attack.control)},
          {"caught_means", text(attack.caught)},
          {"formula", text(attack.formula)},
          {"formula_value", attack.rate.value_or(std::numeric_limits<double>::quiet_NaN())},
          {"catch_rate", finding.rate()},
          {"catch_interval", pair_of(finding.catch_rate)},
          {"gain", finding.gain},
          {"gain_interval", pair_of(finding.gain_interval)},
          {"control_gain", finding.control_gain},
          {"control_gain_interval", pair_of(finding.control_gain_interval)},
          {"arms", Fields{{"honest", fields_of(finding.arm(Arm::kHonest), finding.trials)},
                          {"defended", fields_of(finding.arm(Arm::kDefended), finding.trials)},
                          {"control", fields_of(finding.arm(Arm::kOpen), finding.trials)}}}};
}

std::string table_of(std::span<const Finding> findings, const Options& options) {
  std::string text = fmt::format(kHeading, options.trials, options.seed, price::kStep, price::kPay);
  text += fmt::format(
      "{:<5}{:<20} {:<8} {:>6} {:<15} {:>7} {:>8} {:<17} {:>8} {:<17} {:>5} {:>5} "
      "{:>7} {:>3}\n",
      "", "attack", "where", "caught", "interval", "formula", "gain", "interval", "control",
      "interval", "bad", "paid", "loss", "accused");
  for (const Finding& finding : findings) text += row_text(finding);
  return text;
}

}  // namespace

Report report_of(std::span<const Finding> findings, const Options& options) {
  Report report;
  report.head = {
      {"trials", options.trials}, {"seed", options.seed}, {"familywise_error", kFamilyError}};
  std::vector<Fields> results;
  for (const Finding& finding : findings) results.push_back(fields_of(finding));
  report.lists.emplace_back("results", std::move(results));
  report.rows = bars_of(findings);
  report.tables = table_of(findings, options);
  return report;
}

std::string list_text() {
  std::string text;
  for (const Attack& attack : attack_table()) {
    text +=
        fmt::format("{}\n  does     {}\n  against  {} ({})\n  control  {}\n  caught   {}{}{}\n",
                    attack.name, attack.what, attack.defence, name_of(attack.place), attack.control,
                    attack.caught, attack.formula.empty() ? "" : "; ", attack.formula);
  }
  return text;
}

}  // namespace commensal::attack
