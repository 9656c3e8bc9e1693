// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/command.hpp>
#include <apps/common/outputs.hpp>
#include <apps/common/progress.hpp>
#include <apps/lab/local_rollout.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

/// Both parties' stores: in two folders, or in memory.
struct Stores {
  std::optional<store::StateFolder> client_folder, provider_folder;
  store::MemoryStore client, provider;
  core::Digest secret{};
};

constexpr std::string_view kSecrets = "rollout.secret";

Result<void> open_stores(Stores& stores, const LocalRolloutJob& options, core::Rng& rng) {
  if (options.folder.empty()) {
    core::CounterRng seeded(options.seed);
    stores.secret = options.seed != 0 ? seeded.next_digest() : rng.next_digest();
    return {};
  }
  const core::Path folder = options.folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  COMMENSAL_ASSIGN(stores.client_folder,
                   store::StateFolder::open(folder / "client", "client", rng));
  COMMENSAL_ASSIGN(stores.provider_folder,
                   store::StateFolder::open(folder / "provider", "provider", rng));
  core::Store& kept = stores.client_folder->store();
  COMMENSAL_ASSIGN(const auto there, kept.get(kSecrets, {}));
  if (there && there->size() == stores.secret.size()) {
    std::ranges::copy(*there, stores.secret.begin());
    return {};
  }
  core::CounterRng seeded(options.seed);
  stores.secret = options.seed != 0 ? seeded.next_digest() : rng.next_digest();
  return kept.apply(
      {{std::string(kSecrets), {}, core::Bytes(stores.secret.begin(), stores.secret.end())}});
}

/// A cheating engine for the provider, if one is asked for.
Result<std::unique_ptr<rollout::Engine>> cheat_of(const LocalRolloutJob& options,
                                                  const serial::RolloutOptions& wanted) {
  if (options.cheats.empty()) return std::unique_ptr<rollout::Engine>();
  COMMENSAL_ASSIGN(auto lies, read_cheats(options));
  COMMENSAL_ASSIGN(auto made, serial::CheatEngine::create(wanted.graph, wanted.session,
                                                          wanted.feeds, std::move(lies)));
  return std::unique_ptr<rollout::Engine>(std::move(made));
}

core::Path papers_folder(const LocalRolloutJob& options) {
  return core::Path(options.folder) / "mismatches";
}

Json json_of(const LocalRolloutJob& options, const serial::CaughtStep& wrong) {
  const arbiter::Outcome& outcome = wrong.ruling.outcome;
  Json made = {{"step", wrong.step},
               {"operator", wrong.node},
               {"ending", arbiter::name_of(outcome.ending)},
               {"ruling", outcome.reason}};
  if (options.folder.empty()) return made;
  made["opening_file"] = serial::opening_file(papers_folder(options), wrong.step).string();
  if (!wrong.ruling.file.empty()) {
    made["verdict_file"] = serial::verdict_file(papers_folder(options), wrong.step).string();
  }
  return made;
}

Json json_of(const LocalRolloutJob& options, const serial::RolloutReport& report, double seconds) {
  Json caught = Json::array();
  for (const serial::CaughtStep& wrong : report.caught) caught.push_back(json_of(options, wrong));
  return {{"job", core::to_hex(report.job)},
          {"steps_done", report.steps},
          {"resumed_after", report.resumed_after},
          {"final_state", core::to_hex(report.final_root)},
          {"audits", report.audits},
          {"mismatches", caught},
          {"tickets",
           {{"issued", report.tickets.issued},
            {"won", report.tickets.won},
            {"paid", report.tickets.paid},
            {"slashed", report.tickets.slashed},
            {"value_paid", protocol::to_text(report.tickets.value_paid)}}},
          {"seconds", seconds}};
}

void print_text(const LocalRolloutJob& options, const serial::RolloutReport& report,
                double seconds) {
  fmt::print("{} steps in {:.2f} s", report.steps, seconds);
  if (report.resumed_after > 0) fmt::print(", {} of them made before", report.resumed_after);
  fmt::print("\njob {}\nfinal state {}\n", core::to_hex(report.job),
             core::to_hex(report.final_root));
  fmt::print("{} audits, {} mismatches; {} tickets, {} won, {} paid\n", report.audits,
             report.caught.size(), report.tickets.issued, report.tickets.won, report.tickets.paid);
  for (const serial::CaughtStep& wrong : report.caught) {
    fmt::print("step {} is wrong from operator '{}' on: {}\n", wrong.step, wrong.node,
               wrong.ruling.outcome.reason);
  }
  if (!report.caught.empty() && !options.folder.empty()) {
    fmt::print("papers for `commensal arbiter check` are in {}\n", papers_folder(options).string());
  }
}

Result<int> rollout(const LocalRolloutJob& options) {
  core::SystemRng rng;
  const core::SystemClock clock;
  Stores stores;
  COMMENSAL_TRY(open_stores(stores, options, rng));
  COMMENSAL_ASSIGN(auto wanted, rollout_options(options, stores.secret));
  const auto graph = wanted.graph;
  COMMENSAL_ASSIGN(const auto cheat, cheat_of(options, wanted));
  wanted.engine = cheat.get();
  core::Store& client = stores.client_folder ? stores.client_folder->store() : stores.client;
  core::Store& provider =
      stores.provider_folder ? stores.provider_folder->store() : stores.provider;
  COMMENSAL_ASSIGN(const auto local,
                   serial::LocalRollout::open({client, provider, clock, rng}, std::move(wanted)));
  Progress progress("rollout");
  const std::int64_t begun_ns = clock.monotonic_ns();
  std::size_t written = 0;
  Result<void> papers;
  COMMENSAL_ASSIGN(const auto report, local->run([&](const serial::RolloutReport& so_far) {
    progress.show(so_far.steps, options.job.steps);
    for (; papers && !options.folder.empty() && written < so_far.caught.size(); ++written) {
      papers = serial::write_papers(so_far.caught[written], papers_folder(options));
    }
    if (options.job.streams) {
      fmt::print("{}\n", Json{{"step", so_far.steps},
                              {"state", core::to_hex(so_far.final_root)},
                              {"audits", so_far.audits},
                              {"mismatches", so_far.caught.size()}}
                             .dump());
      std::fflush(stdout);
    }
  }));
  progress.clear();
  COMMENSAL_TRY(papers);
  const double seconds = static_cast<double>(clock.monotonic_ns() - begun_ns) * 1e-9;
  if (!options.job.output_dir.empty()) {
    COMMENSAL_TRY(
        write_outputs(receipt::name_tensors(*graph, graph->outputs, local->client().outputs()),
                      options.job.output_dir));
  }
  if (options.job.json) {
    fmt::print("{}\n", json_of(options, report, seconds).dump(2));
  } else if (!options.job.streams) {
    print_text(options, report, seconds);
  }
  return report.caught.empty() ? 0 : 2;
}

}  // namespace

Run declare_lab_rollout(CLI::App& app) {
  const auto options = std::make_shared<LocalRolloutJob>();
  options->job.declare(app, "ONNX file");
  app.add_option("--win-probability", options->win_probability, "Of every step's ticket")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--data-dir", options->folder,
                 "Keep both parties' states here; the same command goes on after a crash");
  app.add_option("--seed", options->seed,
                 "Keys, salts of the inputs, noise and draws follow from it; 0: from the system")
      ->capture_default_str();
  app.add_option("--cheat", options->cheats,
                 "STEP=WEIGHT: the provider computes this step with another weight; COUNT@WEIGHT: "
                 "so many steps, drawn from the seed. For who wants to see cheats being caught")
      ->allow_extra_args(false);
  app.add_flag("--keep-going", options->keeps_going, "Do not stop at a mismatch");
  options->backend.declare(app);
  return [options] { return rollout(*options); };
}

}  // namespace commensal::apps
