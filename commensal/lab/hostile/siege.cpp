// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/hostile/fort.hpp>
#include <commensal/lab/hostile/honest.hpp>
#include <commensal/lab/hostile/newcomers.hpp>
#include <commensal/lab/hostile/siege.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <sstream>
#include <thread>

namespace commensal::lab::hostile {
namespace {

using core::Result;

// Of an attack's time: its control, then the attack.
constexpr double kControlShare = 0.3;
constexpr double kAttackShare = 0.7;
constexpr double kWarmSeconds = 1.5;
constexpr double kSecondsMin = 4;    // of an attack
constexpr double kBeginShare = 0.1;  // of a window: attackers begin
constexpr int kConsumers = 3;
constexpr std::uint64_t kQuestions = 64;
constexpr double kRatioMax = 2;

constexpr int kEndMs = 5'000;  // for an attacker to say how often it acted

double p99_of(const Felt& felt) { return felt.ms.empty() ? 0 : bench::quantile(felt.ms, 0.99); }

double longest_ms(const Came& came) {
  return came.ms.empty() ? 0 : *std::ranges::max_element(came.ms);
}

struct Outcome {
  const AttackRow* attack = nullptr;
  Felt control, attacked;
  Came came;  // beside the attack, to a port without TLS
  Deeds idle, deeds;
  int fallen = 0, ended_badly = 0;
  std::vector<std::string> long_turns;
  std::vector<std::string> complaints;
  std::vector<double> peaks_mib;
};

Result<std::vector<HonestConsumers::Question>> questions_for(const core::Path& model) {
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(model));
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_bytes(bytes, nullptr));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(graph, {}));
  std::vector<HonestConsumers::Question> questions;
  for (std::uint64_t i = 0; i < kQuestions; ++i) {
    std::vector<float> pixels;
    for (std::uint64_t k = 0; k < 64; ++k) {
      pixels.push_back(8.0F + 8.0F * core::counter_symmetric_f32(7, i, k));
    }
    const std::vector<tensor::Tensor> inputs = {tensor::Tensor::of<float>({1, 1, 8, 8}, pixels)};
    COMMENSAL_ASSIGN(auto outputs, session.run(inputs));
    questions.push_back(
        {receipt::name_tensors(*graph, graph->inputs, inputs),
         receipt::state_root(receipt::name_tensors(*graph, graph->outputs, std::move(outputs)))});
  }
  return questions;
}

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// One window: attackers, or their control, at work for so long.
Result<Felt> window(const SiegeOptions& options, const Target& target, HonestConsumers& consumers,
                    std::string_view attack, double seconds, std::uint64_t seed, Deeds& deeds) {
  COMMENSAL_ASSIGN(auto child, core::ChildProcess::start({options.attackers.string(),
                                                          "hostile",
                                                          "--play",
                                                          std::string(attack),
                                                          "--seconds",
                                                          fmt::format("{}", seconds),
                                                          "--cpu-share",
                                                          fmt::format("{}", options.cpu_share),
                                                          "--seed",
                                                          std::to_string(seed),
                                                          "--http-port",
                                                          std::to_string(target.http_port),
                                                          "--provider-port",
                                                          std::to_string(target.provider_port),
                                                          "--token",
                                                          target.token,
                                                          "--other-token",
                                                          target.other_token,
                                                          "--model",
                                                          target.model},
                                                         {}));
  rest(seconds * kBeginShare);
  consumers.begin();
  rest(seconds * (1 - kBeginShare));
  Felt felt = consumers.end();
  if (const auto said = child.read_line(kEndMs, limits::kHostLineBytesMax)) {
    std::istringstream(*said) >> deeds.acts >> deeds.effects >> deeds.cpu_share;
  }
  return felt;
}

/// In a fort of its own: whatever the last attack has left is not this one's control.
Result<Outcome> play(const SiegeOptions& options, const AttackRow& attack,
                     const std::vector<HonestConsumers::Question>& questions, double seconds) {
  COMMENSAL_ASSIGN(const auto fort, Fort::build(options.daemons, options.model, attack.is_tls));
  HonestConsumers consumers(fort->alice(), fort->target().model, questions, kConsumers);
  consumers.begin();
  rest(kWarmSeconds);  // its providers load the model
  std::ignore = consumers.end();
  Outcome outcome;
  outcome.attack = &attack;
  std::optional<NewcomingProviders> newcomers;  // beside the control too
  if (!attack.is_tls) newcomers.emplace(fort->target().provider_port);
  COMMENSAL_ASSIGN(outcome.control, window(options, fort->target(), consumers, "",
                                           seconds * kControlShare, options.seed, outcome.idle));
  COMMENSAL_ASSIGN(outcome.attacked, window(options, fort->target(), consumers, attack.name,
                                            seconds * kAttackShare, options.seed, outcome.deeds));
  if (newcomers) outcome.came = newcomers->end();
  outcome.fallen = fort->fallen();
  outcome.peaks_mib = fort->peaks_mib();
  outcome.ended_badly = fort->end();
  outcome.long_turns = fort->long_turns();
  outcome.complaints = fort->complaints();
  return outcome;
}

bench::Fields fields_of(const Outcome& one) {
  return {{"attack", std::string(one.attack->name)},
          {"acts", one.deeds.acts},
          {"effects", one.deeds.effects},
          {"answers", one.attacked.answers},
          {"failed", one.attacked.failed + one.control.failed},
          {"wrong", one.attacked.wrong + one.control.wrong},
          {"first_failure", one.attacked.first_failure + one.control.first_failure},
          {"p99_ms", p99_of(one.attacked)},
          {"control_p99_ms", p99_of(one.control)},
          {"providers_came", static_cast<std::uint64_t>(one.came.ms.size())},
          {"providers_late", one.came.late},
          {"provider_ms_max", longest_ms(one.came)},
          {"daemons_ended", std::int64_t{one.fallen}},
          {"daemons_ended_badly", std::int64_t{one.ended_badly}},
          {"complaints", static_cast<std::uint64_t>(one.complaints.size())},
          {"cpu_share", one.deeds.cpu_share},
          {"control_cpu_share", one.idle.cpu_share},
          {"long_turns", static_cast<std::uint64_t>(one.long_turns.size())},
          {"gateway_peak_mib", one.peaks_mib.front()}};
}

bench::Row ratio_row(const Outcome& one) {
  const std::string name = fmt::format("{} honest p99 / beside control", one.attack->name);
  const double control = p99_of(one.control);
  if (control <= 0 || one.attacked.ms.empty()) {
    return bench::row_at_most(name, kRatioMax, {1e9}, "nobody was answered");
  }
  return bench::row_at_most(
      name, kRatioMax, {p99_of(one.attacked) / control},
      fmt::format("{} and {} answers", one.attacked.answers, one.control.answers));
}

bench::Report report_of(const SiegeOptions& options, const std::vector<Outcome>& outcomes) {
  bench::Report report;
  report.head = {
      {"seconds", options.seconds}, {"cpu_share", options.cpu_share}, {"seed", options.seed}};
  std::vector<bench::Fields> results;
  double failed = 0, wrong = 0, answers = 0, fallen = 0, badly = 0, came = 0, late = 0;
  std::vector<std::string> long_turns, complaints;
  std::vector<double> peaks(3, 0);
  for (const Outcome& one : outcomes) {
    results.push_back(fields_of(one));
    report.rows.push_back(ratio_row(one));
    failed += static_cast<double>(one.attacked.failed + one.control.failed);
    wrong += static_cast<double>(one.attacked.wrong + one.control.wrong);
    answers += static_cast<double>(one.attacked.answers + one.control.answers);
    fallen += one.fallen;
    badly += one.ended_badly;
    came += static_cast<double>(one.came.ms.size());
    late += static_cast<double>(one.came.late);
    long_turns.insert(long_turns.end(), one.long_turns.begin(), one.long_turns.end());
    complaints.insert(complaints.end(), one.complaints.begin(), one.complaints.end());
    std::ranges::transform(peaks, one.peaks_mib, peaks.begin(),
                           [](double a, double b) { return std::max(a, b); });
    report.tables += fmt::format(
        "{:<22} {:>7} acts, {:>7} effects; p99 {:>8.2f} ms, control {:>8.2f} ms, {:>6} answers, "
        "{} failed {}\n",
        one.attack->name, one.deeds.acts, one.deeds.effects, p99_of(one.attacked),
        p99_of(one.control), one.attacked.answers, one.attacked.failed + one.control.failed,
        one.attacked.first_failure);
  }
  report.lists = {{"results", std::move(results)}};
  const auto none = [&](std::string name, double value, std::string how) {
    report.rows.push_back(bench::row_at_most(std::move(name), 0, {value}, std::move(how)));
  };
  const auto idle =
      std::ranges::count_if(outcomes, [](const Outcome& one) { return one.deeds.effects == 0; });
  none("attackers that saw no effect", static_cast<double>(idle),
       fmt::format("of {}", outcomes.size()));
  none("daemons that ended", fallen, fmt::format("of {}", 3 * outcomes.size()));
  none("daemons that did not end well when told to", badly,
       fmt::format("of {}", 3 * outcomes.size()));
  none("honest requests that failed", failed, fmt::format("of {}", answers + failed));
  none("honest answers that were wrong", wrong, fmt::format("of {}, bit for bit", answers));
  none("new providers kept out for three seconds", late, fmt::format("of {} that came", came));
  none("turns of the gateway's loop above 20 ms", static_cast<double>(long_turns.size()),
       "of its processor time; sanitizers lengthen them");
  none("complaints of sanitizers", static_cast<double>(complaints.size()),
       "lines in the daemons' logs, where they were built with one");
  for (const auto* const lines : {&complaints, &long_turns}) {
    for (std::size_t i = 0; i < lines->size() && i < 10; ++i) report.notes.push_back((*lines)[i]);
  }
  const char* const names[] = {"gateway", "provider ada", "provider bob"};
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    report.rows.push_back({.name = fmt::format("{} peak memory MiB", names[i]),
                           .value = peaks[i],
                           .low = peaks[i],
                           .high = peaks[i]});
  }
  return report;
}

}  // namespace

Result<bench::Report> besiege(const SiegeOptions& options) {
  std::vector<const AttackRow*> attacks;
  for (const std::string& name : options.names) {
    COMMENSAL_ASSIGN(const AttackRow* const row, find_attack(name));
    attacks.push_back(row);
  }
  if (attacks.empty()) attacks = all_attacks();
  const double share = options.seconds / static_cast<double>(attacks.size());
  if (share < kSecondsMin) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "{} attacks in {} seconds: {} are expected at least", attacks.size(),
                      options.seconds, kSecondsMin * static_cast<double>(attacks.size()));
  }
  COMMENSAL_ASSIGN(const auto questions, questions_for(options.model));
  std::vector<Outcome> outcomes;
  for (const AttackRow* attack : attacks) {
    options.progress(attack->name);
    COMMENSAL_ASSIGN(auto outcome, play(options, *attack, questions, share));
    outcomes.push_back(std::move(outcome));
  }
  return report_of(options, outcomes);
}

}  // namespace commensal::lab::hostile
