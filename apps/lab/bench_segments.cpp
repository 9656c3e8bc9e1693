// SPDX-License-Identifier: Apache-2.0
#include <apps/common/bench_files.hpp>
#include <apps/common/bench_report.hpp>
#include <apps/lab/bench_segments.hpp>
#include <commensal/lab/bench/segments/segments_bench.hpp>
#include <memory>

namespace commensal::apps {

namespace {

struct BenchSegmentsArguments {
  lab::bench::segments::SegmentsBenchOptions bench;
  std::string plan;
  bool json = false;
};

core::Result<int> bench_segments(BenchSegmentsArguments& options) {
  options.bench.plan = options.plan;
  if (options.plan.empty()) {
    COMMENSAL_ASSIGN(options.bench.plan, source_file("models/digits/tune.yaml"));
  }
  COMMENSAL_ASSIGN(const auto report, lab::bench::segments::run_segments_bench(options.bench));
  return print_report(report, options.json);
}

}  // namespace

Run declare_bench_segments(CLI::App& app) {
  const auto options = std::make_shared<BenchSegmentsArguments>();
  app.add_option("--plan", options->plan, "A training (YAML); default: models/digits/tune.yaml")
      ->check(CLI::ExistingFile);
  app.add_option("--segment", options->bench.each, "Steps of a segment")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  app.add_option("--rounds", options->bench.rounds, "Rounds of each measurement")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return bench_segments(*options); };
}

}  // namespace commensal::apps
