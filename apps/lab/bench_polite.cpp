// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_report.hpp>
#include <apps/common/progress.hpp>
#include <apps/lab/bench_place.hpp>
#include <apps/lab/bench_polite.hpp>
#include <commensal/lab/bench/collocation/polite.hpp>
#include <cstdio>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

struct BenchPoliteArguments {
  lab::bench::collocation::PoliteOptions bench;
  BenchPlace place;
};

Result<int> run(BenchPoliteArguments& options) {
  COMMENSAL_ASSIGN(options.bench.place, options.place.find(options.bench.networks));
  Progress progress("bench");
  options.bench.progress = [&](const std::string&, int done, int total) {
    progress.show(static_cast<std::size_t>(done), static_cast<std::size_t>(total));
  };
  COMMENSAL_ASSIGN(const auto rows,
                   lab::bench::collocation::run_polite(options.bench, core::SystemClock()));
  progress.clear();
  return print_report(report_of(rows), options.place.json);
}

}  // namespace

Run declare_bench_polite(CLI::App& app) {
  const auto options = std::make_shared<BenchPoliteArguments>();
  lab::bench::collocation::PoliteOptions& bench = options->bench;
  app.add_option("--hosts", bench.hosts, "Programs, each on one thread")
      ->delimiter(',')
      ->check(CLI::IsMember({"equihash", "streamer"}))
      ->capture_default_str();
  app.add_option("--models", bench.networks, "Names of networks")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--batch", bench.batches, "Batch sizes")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rounds", bench.rounds, "Stretches of each network and batch size")
      ->check(CLI::Range(2, 10'000))
      ->capture_default_str();
  app.add_option("--stretch-seconds", bench.stretch_s, "Of a stretch, with the guest or without")
      ->check(CLI::Range(0.2, 600.0))
      ->capture_default_str();
  app.add_option("--seed", bench.seed, "Of the order")->capture_default_str();
  options->place.declare(app);
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
