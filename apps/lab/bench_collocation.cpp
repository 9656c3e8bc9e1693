// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/bench_report.hpp>
#include <apps/lab/bench_collocation.hpp>
#include <apps/lab/bench_place.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <commensal/lab/bench/collocation/run.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

struct BenchCollocationArguments {
  lab::bench::collocation::CollocationOptions bench;
  BenchPlace place;
  std::string slices = "collocation.jsonl";
  std::string charts;
  bool quick = false;
};

/// Two pairs, our rule alone, ten minutes.
void make_quick(lab::bench::collocation::CollocationOptions& bench) {
  const auto pairs = lab::bench::collocation::collocation_pairs();
  if (bench.pairs.empty()) {
    for (const auto& pair : pairs) {
      if (&pair == &pairs.front() || pair.is_server) bench.pairs.emplace_back(pair.name);
    }
  }
  if (bench.arms.empty()) bench.arms = {std::string(lab::bench::collocation::kOurArm)};
  bench.blocks = 4;
}

Result<void> find_parts(BenchCollocationArguments& options) {
  options.bench.slices_file = options.slices;
  std::vector<std::string> networks;
  for (const lab::bench::collocation::Pair& pair : lab::bench::collocation::collocation_pairs()) {
    const auto& wanted = options.bench.pairs;
    if (wanted.empty() || std::ranges::find(wanted, pair.name) != wanted.end())
      networks.emplace_back(pair.network);
  }
  COMMENSAL_ASSIGN(options.bench.place, options.place.find(networks));
  return {};
}

Result<int> run(BenchCollocationArguments& options) {
  if (options.quick) make_quick(options.bench);
  std::error_code failed;  // before the first of many minutes
  if (!options.charts.empty()) std::filesystem::create_directories(options.charts, failed);
  if (failed)
    return core::fail(core::ErrorCode::kPermissionDenied, "cannot create the folder '{}': {}",
                      options.charts, failed.message());
  COMMENSAL_TRY(find_parts(options));
  options.bench.progress = [](const std::string& what, std::size_t done, std::size_t total) {
    fmt::print(stderr, "{}/{} {}\n", done + 1, total, what);
  };
  COMMENSAL_ASSIGN(const lab::bench::collocation::Slices slices,
                   lab::bench::collocation::run_collocation(options.bench, core::SystemClock()));
  core::CounterRng rng(options.bench.seed);
  const auto figures = lab::bench::collocation::figures_of(slices, rng);
  if (!options.charts.empty()) {
    for (const auto& [name, svg] : lab::bench::collocation::collocation_charts(slices, figures)) {
      const core::ByteView text = core::as_bytes(svg);
      COMMENSAL_TRY(core::replace_file(core::Path(options.charts) / name, {{text}}));
    }
  }
  return print_report(report_of(figures), options.place.json);
}

}  // namespace

Run declare_bench_collocation(CLI::App& app) {
  const auto options = std::make_shared<BenchCollocationArguments>();
  app.add_flag("--quick", options->quick, "Two pairs, our rule alone, 10 minutes");
  app.add_option("--pairs", options->bench.pairs, "Names; default: all")->delimiter(',');
  app.add_option("--arms", options->bench.arms, "Names; default: all")->delimiter(',');
  app.add_option("--blocks", options->bench.blocks, "Slices of the control, and of ours, a pair")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--others", options->bench.others, "Slices of each other arm, a pair")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--slice-seconds", options->bench.slice_s, "Of a slice")
      ->check(CLI::Range(5, 3600))
      ->capture_default_str();
  app.add_option("--seed", options->bench.seed,
                 "Of the order, of the coins and of the governor's dice")
      ->capture_default_str();
  app.add_option("--slices", options->slices,
                 "File of what was measured: a run that was cut off goes on from it")
      ->capture_default_str();
  app.add_option("--charts", options->charts, "Folder for a picture of each pair");
  options->place.declare(app);
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
