// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/chart/bars.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/bench/collocation/guests_together.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <future>

namespace commensal::lab::bench::collocation {
namespace {

using core::Result;

constexpr int kCalibrationRuns = 4;

/// Images a second of a slice.
Result<double> rate_of(bench::Runner& runner, int count) {
  COMMENSAL_ASSIGN(const auto timings, runner.run(count));
  double seconds = 0;
  for (const bench::Timing& timing : timings) seconds += timing.seconds;
  return static_cast<double>(count) / seconds;
}

Result<int> count_for(bench::Runner& runner, double slice_s) {
  COMMENSAL_ASSIGN(const double rate, rate_of(runner, kCalibrationRuns));
  return std::max(kCalibrationRuns, static_cast<int>(std::lround(rate * slice_s)));
}

/// One network's processes: one that has both threads, two that have one each.
struct Cast {
  bench::Runner whole, left, right;
  int whole_count = 0;
  int half_count = 0;

  Result<double> in_turn() { return rate_of(whole, whole_count); }
  Result<double> together() {
    auto other = std::async(std::launch::async, [&] { return rate_of(right, half_count); });
    const auto one = rate_of(left, half_count);
    const auto two = other.get();
    if (!one) return tl::unexpected(one.error());
    if (!two) return tl::unexpected(two.error());
    return *one + *two;
  }
};

Result<bench::Runner> ready(const GuestsOptions& options,
                            const std::vector<bench::InputFile>& inputs, const core::Path& model,
                            int threads) {
  COMMENSAL_ASSIGN(bench::Runner runner, options.start());
  COMMENSAL_TRY(runner.feed(inputs));
  COMMENSAL_TRY(runner.load(model, threads));
  return runner;
}

Result<Cast> cast_of(const GuestsOptions& options, const core::Path& model,
                     const core::Path& folder) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_file(model));
  COMMENSAL_ASSIGN(const auto inputs, bench::write_inputs(*graph, 1, folder));
  COMMENSAL_ASSIGN(bench::Runner whole, ready(options, inputs, model, 2));
  COMMENSAL_ASSIGN(bench::Runner left, ready(options, inputs, model, 1));
  COMMENSAL_ASSIGN(bench::Runner right, ready(options, inputs, model, 1));
  Cast cast{std::move(whole), std::move(left), std::move(right)};
  COMMENSAL_ASSIGN(cast.whole_count, count_for(cast.whole, options.slice_s));
  COMMENSAL_ASSIGN(cast.half_count, count_for(cast.left, options.slice_s));
  return cast;
}

Result<GuestsRow> measure(const GuestsOptions& options, const std::string& model, core::Rng& rng) {
  COMMENSAL_ASSIGN(const auto folder, core::TemporaryFolder::make("guests-bench"));
  COMMENSAL_ASSIGN(Cast cast, cast_of(options, options.folder / (model + ".onnx"), folder.path()));
  std::vector<double> in_turn, together, gains;
  for (int round = 0; round < options.rounds; ++round) {
    const bool turn_first = rng.next_unit() < 0.5;
    for (const bool turn : {turn_first, !turn_first}) {
      COMMENSAL_ASSIGN(const double rate, turn ? cast.in_turn() : cast.together());
      (turn ? in_turn : together).push_back(rate);
    }
    gains.push_back(together.back() / in_turn.back());
  }
  COMMENSAL_ASSIGN(const auto whole, cast.whole.peak_bytes());
  COMMENSAL_ASSIGN(const auto left, cast.left.peak_bytes());
  COMMENSAL_ASSIGN(const auto right, cast.right.peak_bytes());
  return GuestsRow{
      model,
      bench::median(in_turn),
      bench::median(together),
      {bench::median(gains), bench::quantile(gains, 0.25), bench::quantile(gains, 0.75)},
      static_cast<double>(whole),
      static_cast<double>(left) + static_cast<double>(right)};
}

}  // namespace

Result<std::vector<GuestsRow>> run_guests_bench(const GuestsOptions& options, core::Rng& rng) {
  std::vector<GuestsRow> rows;
  for (const std::string& model : options.models) {
    auto row = measure(options, model, rng);
    if (!row) return core::in_context(model, row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

Report report_of(const std::vector<GuestsRow>& rows) {
  Report report;
  std::string& text = report.tables;
  text = fmt::format("{:<16} {:>12} {:>12} {:>22} {:>10} {:>12}\n", "images/s", "in turn",
                     "together", "gain", "MiB", "MiB together");
  std::vector<Fields> list;
  for (const GuestsRow& row : rows) {
    text += fmt::format(
        "{:<16} {:>12.1f} {:>12.1f} {:>22} {:>10.0f} {:>12.0f}\n", row.model, row.in_turn_per_s,
        row.together_per_s,
        fmt::format("{:.2f} ({:.2f} to {:.2f})", row.gain.value, row.gain.low, row.gain.high),
        row.in_turn_bytes / (1 << 20), row.together_bytes / (1 << 20));
    list.push_back({{"model", row.model},
                    {"in_turn_images_per_s", row.in_turn_per_s},
                    {"together_images_per_s", row.together_per_s},
                    {"gain", row.gain.value},
                    {"gain_low", row.gain.low},
                    {"gain_high", row.gain.high},
                    {"in_turn_peak_bytes", row.in_turn_bytes},
                    {"together_peak_bytes", row.together_bytes}});
  }
  report.lists.emplace_back("results", std::move(list));
  return report;
}

std::string guests_svg(const std::vector<GuestsRow>& rows) {
  std::vector<chart::Bar> bars;
  for (const GuestsRow& row : rows) {
    const double best = std::max(row.in_turn_per_s, row.together_per_s);
    bars.push_back(
        {row.model, row.in_turn_per_s / best, fmt::format("in turn: {:.4g}/s", row.in_turn_per_s)});
    bars.push_back(
        {"", row.together_per_s / best, fmt::format("together: {:.4g}/s", row.together_per_s)});
  }
  return chart::bars_svg("Two guests at the same time, or in turn",
                         "Images a second on two threads, as a share of the better way", bars,
                         {"reached", "less than the better way"});
}

}  // namespace commensal::lab::bench::collocation
