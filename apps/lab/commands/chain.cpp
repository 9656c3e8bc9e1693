// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/command.hpp>
#include <apps/common/outputs.hpp>
#include <apps/common/progress.hpp>
#include <apps/lab/local_chain.hpp>
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

constexpr std::string_view kSecrets = "chain.secret";

Result<void> open_stores(Stores& stores, const LocalChain& options, core::Rng& rng) {
  if (options.folder.empty()) {
    core::CounterRng seeded(options.seed);
    stores.secret = options.seed != 0 ? seeded.next_digest() : rng.next_digest();
    return {};
  }
  const core::Path folder = options.folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  COMMENSAL_ASSIGN(stores.client_folder, store::StateFolder::open(folder / "client", rng));
  COMMENSAL_ASSIGN(stores.provider_folder, store::StateFolder::open(folder / "provider", rng));
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
Result<std::unique_ptr<chain::Engine>> cheat_of(const LocalChain& options,
                                                const serial::ChainOptions& wanted) {
  if (options.cheats.empty()) return std::unique_ptr<chain::Engine>();
  COMMENSAL_ASSIGN(auto lies, read_cheats(options));
  COMMENSAL_ASSIGN(auto made, serial::CheatEngine::create(wanted.graph, wanted.session,
                                                          wanted.feeds, std::move(lies)));
  return std::unique_ptr<chain::Engine>(std::move(made));
}

core::Path papers_folder(const LocalChain& options) {
  return core::Path(options.folder) / "mismatches";
}

Json json_of(const LocalChain& options, const serial::CaughtLink& link) {
  const arbiter::Outcome& outcome = link.ruling.outcome;
  Json made = {{"link", link.step},
               {"operator", link.node},
               {"ending", arbiter::name_of(outcome.ending)},
               {"ruling", outcome.reason}};
  if (options.folder.empty()) return made;
  made["task_file"] = serial::task_file(papers_folder(options), link.step).string();
  if (!link.ruling.file.empty()) {
    made["verdict_file"] = serial::verdict_file(papers_folder(options), link.step).string();
  }
  return made;
}

Json json_of(const LocalChain& options, const serial::ChainReport& report, double seconds) {
  Json caught = Json::array();
  for (const serial::CaughtLink& link : report.caught) caught.push_back(json_of(options, link));
  return {{"job", core::to_hex(report.job)},
          {"links", report.steps},
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

void print_text(const LocalChain& options, const serial::ChainReport& report, double seconds) {
  fmt::print("{} links in {:.2f} s", report.steps, seconds);
  if (report.resumed_after > 0) fmt::print(", {} of them made before", report.resumed_after);
  fmt::print("\njob {}\nfinal state {}\n", core::to_hex(report.job),
             core::to_hex(report.final_root));
  fmt::print("{} audits, {} mismatches; {} tickets, {} won, {} paid\n", report.audits,
             report.caught.size(), report.tickets.issued, report.tickets.won, report.tickets.paid);
  for (const serial::CaughtLink& link : report.caught) {
    fmt::print("link {} is wrong from operator '{}' on: {}\n", link.step, link.node,
               link.ruling.outcome.reason);
  }
  if (!report.caught.empty() && !options.folder.empty()) {
    fmt::print("papers for `commensal arbiter check` are in {}\n", papers_folder(options).string());
  }
}

Result<int> chain(const LocalChain& options) {
  core::SystemRng rng;
  const core::SystemClock clock;
  Stores stores;
  COMMENSAL_TRY(open_stores(stores, options, rng));
  COMMENSAL_ASSIGN(auto wanted, world_options(options, stores.secret));
  const auto graph = wanted.graph;
  COMMENSAL_ASSIGN(const auto cheat, cheat_of(options, wanted));
  wanted.engine = cheat.get();
  core::Store& client = stores.client_folder ? stores.client_folder->store() : stores.client;
  core::Store& provider =
      stores.provider_folder ? stores.provider_folder->store() : stores.provider;
  COMMENSAL_ASSIGN(const auto deps,
                   serial::ChainWorld::open({client, provider, clock, rng}, std::move(wanted)));
  Progress progress("chain");
  const std::int64_t begun_ns = clock.monotonic_ns();
  std::size_t written = 0;
  Result<void> papers;
  COMMENSAL_ASSIGN(const auto report, deps->run([&](const serial::ChainReport& so_far) {
    progress.show(so_far.steps, options.job.steps);
    for (; papers && !options.folder.empty() && written < so_far.caught.size(); ++written) {
      papers = serial::write_papers(so_far.caught[written], papers_folder(options));
    }
    if (options.job.streams) {
      fmt::print("{}\n", Json{{"link", so_far.steps},
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
        write_outputs(receipt::name_tensors(*graph, graph->outputs, deps->client().outputs()),
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

Run declare_lab_chain(CLI::App& app) {
  const auto options = std::make_shared<LocalChain>();
  options->job.declare(app, "ONNX file");
  app.add_option("--win-probability", options->win_probability, "Of every link's ticket")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--folder", options->folder,
                 "Keep both parties' states here; the same command goes on after a crash");
  app.add_option("--seed", options->seed,
                 "Keys, salts of the inputs, noise and draws follow from it; 0: from the system")
      ->capture_default_str();
  app.add_option("--cheat", options->cheats,
                 "LINK=WEIGHT: the provider computes this link with another weight; COUNT@WEIGHT: "
                 "so many links, drawn from the seed. For who wants to see cheats being caught")
      ->allow_extra_args(false);
  app.add_flag("--keep-going", options->keeps_going, "Do not stop at a mismatch");
  options->backend.declare(app);
  return [options] { return chain(*options); };
}

}  // namespace commensal::apps
