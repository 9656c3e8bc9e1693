// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/hostile/fort.hpp>
#include <commensal/lab/hostile/honest.hpp>
#include <commensal/lab/hostile/siege.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <thread>

namespace commensal::lab::hostile {
namespace {

using core::Result;

constexpr int kRounds = 2;  // control and attack in turn, so often
constexpr int kConsumers = 3;
constexpr std::uint64_t kQuestions = 64;
constexpr double kRatioMax = 2;

constexpr int kEndMs = 5'000;  // for an attacker to say how often it acted

/// What was felt beside an attack, or its control, in all rounds.
struct Side {
  std::vector<double> ms;
  std::vector<double> p99_ms;  // of each round
  std::uint64_t wrong = 0;
  std::uint64_t failed = 0;
  std::string first_failure;

  void add(Felt felt) {
    if (!felt.ms.empty()) p99_ms.push_back(bench::quantile(felt.ms, 0.99));
    ms.insert(ms.end(), felt.ms.begin(), felt.ms.end());
    wrong += felt.wrong;
    failed += felt.failed;
    if (first_failure.empty()) first_failure = std::move(felt.first_failure);
  }
  double p99() const { return ms.empty() ? 0 : bench::quantile(ms, 0.99); }
};

struct Outcome {
  const AttackRow* attack = nullptr;
  Side control, attacked;
  std::uint64_t acts = 0;
  int fallen = 0;
  double gateway_mib = 0;
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

/// One window: attackers, or their control, at work for so long.
/// `acts`: how often the attacker acted.
Result<Felt> window(const SiegeOptions& options, const Target& target, HonestConsumers& consumers,
                    std::string_view attack, double seconds, std::uint64_t seed,
                    std::uint64_t& acts) {
  COMMENSAL_ASSIGN(
      auto child,
      core::ChildProcess::start(
          {options.attackers.string(), "hostile", "--play", std::string(attack), "--seconds",
           fmt::format("{}", seconds), "--cpu-share", fmt::format("{}", options.cpu_share),
           "--seed", std::to_string(seed), "--http-port", std::to_string(target.http_port),
           "--provider-port", std::to_string(target.provider_port), "--token", target.token,
           "--model", target.model},
          {}));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds * 0.1));  // it begins
  consumers.take();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds * 0.9));
  Felt felt = consumers.take();
  if (const auto said = child.read_line(kEndMs, limits::kHostLineBytesMax))
    acts += std::stoull("0" + *said);
  return felt;
}

Result<Outcome> play(const SiegeOptions& options, Fort& fort, HonestConsumers& consumers,
                     const AttackRow& attack, double seconds) {
  Outcome outcome{.attack = &attack, .control = {}, .attacked = {}};
  const double each_s = seconds / (2 * kRounds);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round);
    std::uint64_t idle = 0;
    COMMENSAL_ASSIGN(auto calm, window(options, fort.target(), consumers, "", each_s, seed, idle));
    outcome.control.add(std::move(calm));
    COMMENSAL_ASSIGN(auto felt, window(options, fort.target(), consumers, attack.name, each_s, seed,
                                       outcome.acts));
    outcome.attacked.add(std::move(felt));
  }
  outcome.fallen = fort.fallen();
  outcome.gateway_mib = fort.peaks_mib().front();
  return outcome;
}

bench::Fields fields_of(const Outcome& one) {
  return {{"attack", std::string(one.attack->name)},
          {"acts", one.acts},
          {"answers", static_cast<std::uint64_t>(one.attacked.ms.size())},
          {"failed", one.attacked.failed + one.control.failed},
          {"wrong", one.attacked.wrong + one.control.wrong},
          {"first_failure", one.attacked.first_failure + one.control.first_failure},
          {"p99_ms", one.attacked.p99()},
          {"control_p99_ms", one.control.p99()},
          {"daemons_ended", std::int64_t{one.fallen}},
          {"gateway_peak_mib", one.gateway_mib}};
}

bench::Row ratio_row(const Outcome& one) {
  const std::string name = fmt::format("{} honest p99 / beside control", one.attack->name);
  const double control = one.control.p99();
  if (control <= 0 || one.attacked.ms.empty()) {
    return bench::row_at_most(name, kRatioMax, {1e9}, "nobody was answered");
  }
  return bench::row_at_most(
      name, kRatioMax, {one.attacked.p99() / control},
      fmt::format("{} and {} answers", one.attacked.ms.size(), one.control.ms.size()));
}

bench::Report report_of(const SiegeOptions& options, const std::vector<Outcome>& outcomes,
                        Fort& fort) {
  bench::Report report;
  report.head = {
      {"seconds", options.seconds}, {"cpu_share", options.cpu_share}, {"seed", options.seed}};
  std::vector<bench::Fields> results;
  double failed = 0, wrong = 0, answers = 0;
  for (const Outcome& one : outcomes) {
    results.push_back(fields_of(one));
    report.rows.push_back(ratio_row(one));
    failed += static_cast<double>(one.attacked.failed + one.control.failed);
    wrong += static_cast<double>(one.attacked.wrong + one.control.wrong);
    answers += static_cast<double>(one.attacked.ms.size() + one.control.ms.size());
    report.tables +=
        fmt::format("{:<22} p99 {:>8.2f} ms, control {:>8.2f} ms, {:>6} answers, {} failed {}\n",
                    one.attack->name, one.attacked.p99(), one.control.p99(), one.attacked.ms.size(),
                    one.attacked.failed + one.control.failed, one.attacked.first_failure);
  }
  report.lists = {{"results", std::move(results)}};
  const auto none = [&](std::string name, double value, std::string how) {
    report.rows.push_back(bench::row_at_most(std::move(name), 0, {value}, std::move(how)));
  };
  const auto idle = std::ranges::count(outcomes, std::uint64_t{0}, &Outcome::acts);
  none("attackers that did not act", static_cast<double>(idle),
       fmt::format("of {}", outcomes.size()));
  none("daemons that ended", fort.fallen(), "of 3");
  none("honest requests that failed", failed, fmt::format("of {}", answers + failed));
  none("honest answers that were wrong", wrong, fmt::format("of {}, bit for bit", answers));
  const auto complaints = fort.complaints();
  none("complaints of sanitizers", static_cast<double>(complaints.size()),
       "lines in the daemons' logs, where they were built with one");
  for (std::size_t i = 0; i < complaints.size() && i < 10; ++i)
    report.notes.push_back(complaints[i]);
  const auto peaks = fort.peaks_mib();
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
  for (const auto table : {http_attacks(), account_attacks(), model_attacks(), stream_attacks()}) {
    for (const AttackRow& row : table) {
      if (options.names.empty()) attacks.push_back(&row);
    }
  }
  COMMENSAL_ASSIGN(auto questions, questions_for(options.model));
  COMMENSAL_ASSIGN(const auto fort, Fort::build(options.daemons, options.model));
  HonestConsumers consumers(fort->alice(), fort->target().model, std::move(questions), kConsumers);
  std::vector<Outcome> outcomes;
  for (const AttackRow* attack : attacks) {
    options.progress(attack->name);
    const double share = options.seconds / static_cast<double>(attacks.size());
    COMMENSAL_ASSIGN(auto outcome, play(options, *fort, consumers, *attack, share));
    outcomes.push_back(std::move(outcome));
  }
  return report_of(options, outcomes, *fort);
}

}  // namespace commensal::lab::hostile
