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
#include <map>
#include <sstream>
#include <thread>

namespace commensal::lab::hostile {
namespace {

using core::Result;

// Of an attack's time: its control, then the attack.
constexpr double kControlShare = 0.3;
constexpr double kAttackShare = 0.7;
constexpr double kWarmSeconds = 1.5;
constexpr double kSecondsMin = 4;                     // of an attack
constexpr double kBeginShare = 0.1;                   // of a window: attackers begin
constexpr std::size_t kConsumers = 3, kOverGrpc = 2;  // of them, where they may
constexpr std::uint64_t kQuestions = 64;
constexpr double kRatioMax = 2;
constexpr double kServedMin = 0.8;  // of the answers that there are beside the control

constexpr int kEndMs = 5'000;  // for an attacker to say how often it acted

double p99_of(const Felt& felt) { return felt.ms.empty() ? 0 : bench::quantile(felt.ms, 0.99); }

double longest_ms(const Came& came) {
  return came.ms.empty() ? 0 : *std::ranges::max_element(came.ms);
}

struct Window {
  double seconds = 0;  // in which who is honest asked
  Felt felt;
  Came came;  // to a port without TLS
  Deeds deeds;
};

struct Outcome {
  const AttackRow* attack = nullptr;
  Window control, attacked;
  int fallen = 0, ended_badly = 0;
  std::vector<std::string> long_turns;
  std::vector<std::string> complaints;
  std::map<std::string, double> peaks_mib;
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

Result<core::ChildProcess> start_attackers(const SiegeOptions& options, const Target& target,
                                           std::string_view attack, double seconds) {
  return core::ChildProcess::start({options.attackers.string(),
                                    "hostile",
                                    "--play",
                                    std::string(attack),
                                    "--seconds",
                                    fmt::format("{}", seconds),
                                    "--cpu-share",
                                    fmt::format("{}", options.cpu_share),
                                    "--seed",
                                    std::to_string(options.seed),
                                    "--http-port",
                                    std::to_string(target.http_port),
                                    "--provider-port",
                                    std::to_string(target.provider_port),
                                    "--grpc-port",
                                    std::to_string(target.grpc_port),
                                    "--writer-http-port",
                                    std::to_string(target.writer_http_port),
                                    "--writer-provider-port",
                                    std::to_string(target.writer_provider_port),
                                    "--token",
                                    target.token,
                                    "--other-token",
                                    target.other_token,
                                    "--model",
                                    target.model},
                                   {});
}

/// Attackers, or their control, at work for so long. Who is honest comes once they have begun.
Result<Window> window(const SiegeOptions& options, const Target& target, HonestConsumers& consumers,
                      std::string_view attack, bool is_tls, double seconds) {
  COMMENSAL_ASSIGN(auto child, start_attackers(options, target, attack, seconds));
  rest(seconds * kBeginShare);
  Window made;
  std::optional<NewcomingProviders> newcomers;
  if (!is_tls) newcomers.emplace(target.provider_port);
  consumers.begin();
  made.seconds = seconds * (1 - kBeginShare);
  rest(made.seconds);
  if (newcomers) newcomers->stop();
  made.felt = consumers.end();
  if (newcomers) made.came = newcomers->end();
  if (const auto said = child.read_line(kEndMs, limits::kHostLineBytesMax)) {
    std::istringstream(*said) >> made.deeds.acts >> made.deeds.effects >> made.deeds.cpu_share;
  }
  return made;
}

std::vector<HonestConsumers::Dial> consumers_of(const Fort& fort, Site site) {
  std::vector<HonestConsumers::Dial> consumers(kConsumers,
                                               [options = fort.alice()](const std::string& from) {
                                                 auto its = options;
                                                 its.from = from;
                                                 return http_line(its);
                                               });
  const auto grpc = [port = fort.target().grpc_port, token = fort.alice().token](
                        const std::string& from) -> Result<std::unique_ptr<Line>> {
    return grpc_line(port, token, from);
  };
  if (site == Site::kGrpc) std::fill_n(consumers.begin(), kOverGrpc, grpc);
  return consumers;
}

/// In a fort of its own: whatever the last attack has left is not this one's control.
Result<Outcome> play(const SiegeOptions& options, const AttackRow& attack,
                     const std::vector<HonestConsumers::Question>& questions, double seconds) {
  COMMENSAL_ASSIGN(const auto fort, Fort::build(options.daemons, options.model, attack.site));
  HonestConsumers consumers(consumers_of(*fort, attack.site), fort->target().model, questions);
  const bool is_tls = attack.site == Site::kTls;
  consumers.begin();
  rest(kWarmSeconds);  // its providers load the model
  std::ignore = consumers.end();
  Outcome outcome;
  outcome.attack = &attack;
  COMMENSAL_ASSIGN(outcome.control,
                   window(options, fort->target(), consumers, "", is_tls, seconds * kControlShare));
  COMMENSAL_ASSIGN(outcome.attacked, window(options, fort->target(), consumers, attack.name, is_tls,
                                            seconds * kAttackShare));
  outcome.fallen = fort->fallen();
  outcome.peaks_mib = fort->peaks_mib();
  outcome.ended_badly = fort->end();
  outcome.long_turns = fort->long_turns();
  outcome.complaints = fort->complaints();
  return outcome;
}

std::uint64_t came_to(const Window& window) { return window.came.ms.size(); }

double answers_per_s(const Window& window) {
  return static_cast<double>(window.felt.answers) / window.seconds;
}

/// Of the answers that who is honest had beside the control, in as much time; 0: it had none.
double served_share(const Outcome& one) {
  const double control = answers_per_s(one.control);
  return control > 0 ? answers_per_s(one.attacked) / control : 0;
}

bench::Fields fields_of(const Outcome& one) {
  const Felt& felt = one.attacked.felt;
  const Felt& control = one.control.felt;
  return {{"attack", std::string(one.attack->name)},
          {"is_null", one.attack->is_null},
          {"acts", one.attacked.deeds.acts},
          {"effects", one.attacked.deeds.effects},
          {"answers", felt.answers},
          {"served_share", served_share(one)},
          {"failed", felt.failed},
          {"wrong", felt.wrong},
          {"first_failure", felt.first_failure},
          {"p99_ms", p99_of(felt)},
          {"providers_came", came_to(one.attacked)},
          {"providers_late", one.attacked.came.late},
          {"provider_ms_max", longest_ms(one.attacked.came)},
          {"control_answers", control.answers},
          {"control_failed", control.failed},
          {"control_wrong", control.wrong},
          {"control_first_failure", control.first_failure},
          {"control_p99_ms", p99_of(control)},
          {"control_providers_came", came_to(one.control)},
          {"control_providers_late", one.control.came.late},
          {"daemons_ended", std::int64_t{one.fallen}},
          {"daemons_ended_badly", std::int64_t{one.ended_badly}},
          {"complaints", static_cast<std::uint64_t>(one.complaints.size())},
          {"cpu_share", one.attacked.deeds.cpu_share},
          {"control_cpu_share", one.control.deeds.cpu_share},
          {"long_turns", static_cast<std::uint64_t>(one.long_turns.size())},
          {"gateway_peak_mib", one.peaks_mib.at("gateway")}};
}

std::string line_of(const Outcome& one) {
  const Felt& felt = one.attacked.felt;
  return fmt::format(
      "{:<22} {:>7} acts, {:>7} effects; p99 {:>8.2f} ms, control {:>8.2f} ms, {:>6} answers, "
      "{} failed {}\n",
      one.attack->name, one.attacked.deeds.acts, one.attacked.deeds.effects, p99_of(felt),
      p99_of(one.control.felt), felt.answers, felt.failed, felt.first_failure);
}

/// The control has all that attackers may have, which silent ones do not use.
bench::Row ratio_row(const Outcome& one) {
  const std::string name = fmt::format("{} honest p99 / beside control", one.attack->name);
  const Felt& felt = one.attacked.felt;
  const double control = p99_of(one.control.felt);
  if (control <= 0 || felt.ms.empty()) {
    return bench::row_at_most(name, kRatioMax, {1e9}, "nobody was answered");
  }
  return bench::row_at_most(
      name, kRatioMax, {p99_of(felt) / control},
      fmt::format("{} and {} answers, beside {:.2f} and {:.2f} of a processor", felt.answers,
                  one.control.felt.answers, one.attacked.deeds.cpu_share,
                  one.control.deeds.cpu_share));
}

bench::Row served_row(const Outcome& one) {
  return bench::row_at_least(fmt::format("{} honest answers / beside control", one.attack->name),
                             kServedMin, {served_share(one)},
                             fmt::format("{:.1f} and {:.1f} a second", answers_per_s(one.attacked),
                                         answers_per_s(one.control)));
}

/// Of windows together.
struct Sums {
  std::uint64_t answers = 0, failed = 0, wrong = 0, came = 0, late = 0;

  void add(const Window& one) {
    answers += one.felt.answers;
    failed += one.felt.failed;
    wrong += one.felt.wrong;
    came += came_to(one);
    late += one.came.late;
  }
};

bench::Row none(std::string name, std::uint64_t value, std::string how) {
  return bench::row_at_most(std::move(name), 0, {static_cast<double>(value)}, std::move(how));
}

/// Of what attacks did to who is honest; beside controls, and the null, nothing was to happen.
std::vector<bench::Row> honest_rows(const std::vector<Outcome>& outcomes) {
  Sums attacked, quiet;
  for (const Outcome& one : outcomes) {
    quiet.add(one.control);
    (one.attack->is_null ? quiet : attacked).add(one.attacked);
  }
  return {none("honest requests that failed", attacked.failed,
               fmt::format("of {} beside attacks", attacked.answers + attacked.failed)),
          none("honest answers that were wrong", attacked.wrong,
               fmt::format("of {} beside attacks, bit for bit", attacked.answers)),
          none("new providers kept out for three seconds", attacked.late,
               fmt::format("of {} that came beside attacks", attacked.came)),
          none("failed, wrong or kept out beside controls", quiet.failed + quiet.wrong + quiet.late,
               fmt::format("of {} requests and {} providers", quiet.answers + quiet.failed,
                           quiet.came))};
}

bench::Report report_of(const SiegeOptions& options, const std::vector<Outcome>& outcomes) {
  bench::Report report;
  report.head = {
      {"seconds", options.seconds}, {"cpu_share", options.cpu_share}, {"seed", options.seed}};
  std::vector<bench::Fields> results;
  std::uint64_t attacks = 0, idle = 0, fallen = 0, badly = 0, all = 0;
  std::vector<std::string> long_turns, complaints;
  std::map<std::string, double> peaks;
  for (const Outcome& one : outcomes) {
    results.push_back(fields_of(one));
    report.rows.push_back(ratio_row(one));
    report.rows.push_back(served_row(one));
    report.tables += line_of(one);
    attacks += one.attack->is_null ? 0 : 1;
    idle += !one.attack->is_null && one.attacked.deeds.effects == 0 ? 1 : 0;
    all += one.peaks_mib.size();
    fallen += static_cast<std::uint64_t>(one.fallen);
    badly += static_cast<std::uint64_t>(one.ended_badly);
    long_turns.insert(long_turns.end(), one.long_turns.begin(), one.long_turns.end());
    complaints.insert(complaints.end(), one.complaints.begin(), one.complaints.end());
    for (const auto& [name, mib] : one.peaks_mib) peaks[name] = std::max(peaks[name], mib);
  }
  report.lists = {{"results", std::move(results)}};
  const std::string daemons = fmt::format("of {}", all);
  report.rows.push_back(none("attackers that saw no effect", idle, fmt::format("of {}", attacks)));
  report.rows.push_back(none("daemons that ended", fallen, daemons));
  report.rows.push_back(none("daemons that did not end well when told to", badly, daemons));
  for (bench::Row& row : honest_rows(outcomes)) report.rows.push_back(std::move(row));
  report.rows.push_back(none("turns of the gateway's loop above 20 ms", long_turns.size(),
                             "of its processor time; sanitizers lengthen them"));
  report.rows.push_back(none("complaints of sanitizers", complaints.size(),
                             "lines in the daemons' logs, where they were built with one"));
  for (const auto* const lines : {&complaints, &long_turns}) {
    for (std::size_t i = 0; i < lines->size() && i < 10; ++i) report.notes.push_back((*lines)[i]);
  }
  for (const auto& [name, mib] : peaks) {
    report.rows.push_back(
        {.name = fmt::format("{} peak memory MiB", name), .value = mib, .low = mib, .high = mib});
  }
  return report;
}

/// All of them, but those that need what is not installed.
std::vector<const AttackRow*> attacks_here(const SiegeOptions& options) {
  auto attacks = all_attacks();
  if (Database::is_installed()) return attacks;
  std::erase_if(attacks, [](const AttackRow* row) { return row->site == Site::kRelay; });
  options.progress("without those at a relay, which need Debian's postgresql-15");
  return attacks;
}

}  // namespace

Result<bench::Report> besiege(const SiegeOptions& options) {
  std::vector<const AttackRow*> attacks;
  for (const std::string& name : options.names) {
    COMMENSAL_ASSIGN(const AttackRow* const row, find_attack(name));
    attacks.push_back(row);
  }
  if (attacks.empty()) attacks = attacks_here(options);
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
