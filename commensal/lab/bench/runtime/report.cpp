// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/runtime/peer_clock.hpp>
#include <commensal/lab/bench/runtime/report.hpp>
#include <limits>
#include <map>

namespace commensal::lab::bench {

namespace {

constexpr double kMs = 1e3, kUs = 1e6;
constexpr double kMB = 1e-6;

struct Geomean {
  int threads;
  std::int64_t batch;
  double ratio;
  std::size_t rows;
};

std::vector<Geomean> geomeans_of(const Comparison& report) {
  std::map<std::pair<std::int64_t, int>, std::vector<double>> groups;
  for (const LatencyRow& row : report.latency) {
    if (row.not_measurable.empty())
      groups[{row.batch, row.threads}].push_back(row.compared.ratio.value);
  }
  std::vector<Geomean> means;
  for (const auto& [key, ratios] : groups) {
    means.push_back({key.second, key.first, geometric_mean(ratios), ratios.size()});
  }
  return means;
}

std::string latency_text(const Comparison& report) {
  std::string text =
      fmt::format("{:<20} {:>7} {:>5} {:>9} {:>9} {:>6}  {:<11} {}\n", "model", "threads", "batch",
                  "ours ms", "theirs ms", "ratio", "quartiles", "rejected");
  for (const LatencyRow& row : report.latency) {
    const auto& [ours, theirs, ratio] = row.compared;
    text += fmt::format("{:<20} {:>7} {:>5} {:>9.3f} ", row.model, row.threads, row.batch,
                        ours.median_s * kMs);
    if (row.not_measurable.empty()) {
      text += fmt::format("{:>9.3f} {:>6.3f}  {:.3f}-{:.3f} {}+{} of {}{}{}", theirs.median_s * kMs,
                          ratio.value, ratio.low, ratio.high, ours.rejected, theirs.rejected,
                          ours.repeats, ours.busy || theirs.busy ? " (busy machine)" : "",
                          row.clock == Clock::kOwn ? " (theirs by its own clock)" : "");
    } else {
      text += "not measurable";
    }
    text += row.guessed.empty() ? "\n" : fmt::format(" ({})\n", row.guessed);
  }
  for (const Geomean& mean : geomeans_of(report)) {
    text += fmt::format("geometric mean       {:>7} {:>5} {:>26.3f}  of {}\n", mean.threads,
                        mean.batch, mean.ratio, mean.rows);
  }
  double most = 0;
  for (const LatencyRow& row : report.latency) {
    if (row.not_measurable.empty()) most = std::max(most, share_of(row.compared.theirs));
  }
  if (most > 0) {
    text += fmt::format(
        "theirs: less what the peer's language takes of a run, at most {:.0f} % of it\n",
        most * 100);
  }
  return text;
}

std::string load_text(const Comparison& report) {
  std::string text = fmt::format(
      "\nLoad: until the first answer (until the session), 1 thread; memory: growth of its peak\n"
      "{:<20} {:>17} {:>17} {:>6}  {:<11} {:>8} {:>9} {:>6}\n",
      "model", "ours ms", "theirs ms", "ratio", "quartiles", "ours MB", "theirs MB", "ratio");
  for (const LoadRow& row : report.loads) {
    text += fmt::format(
        "{:<20} {:>8.1f} ({:>6.1f}) {:>8.1f} ({:>6.1f}) {:>6.3f}  {:.3f}-{:.3f} {:>8.1f} {:>9.1f} "
        "{:>6.3f}\n",
        row.model, row.ours.answer_s * kMs, row.ours.session_s * kMs, row.theirs.answer_s * kMs,
        row.theirs.session_s * kMs, row.ratio.value, row.ratio.low, row.ratio.high,
        row.ours_bytes * kMB, row.theirs_bytes * kMB, row.memory_ratio);
  }
  return text;
}

Fields fields_of(const Side& side) {
  return {{"median_ms", side.median_s * kMs},
          {"repeats", side.repeats},
          {"rejected", side.rejected},
          {"busy", side.busy}};
}

Fields fields_of(const Ratio& ratio) {
  return {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
}

Fields fields_of(const LatencyRow& row) {
  const bool is_measured = row.not_measurable.empty();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {{"model", row.model},
          {"threads", row.threads},
          {"batch", row.batch},
          {"ours", fields_of(row.compared.ours)},
          {"theirs", fields_of(row.compared.theirs)},
          {"ratio", fields_of(is_measured ? row.compared.ratio : Ratio{kNone, kNone, kNone})},
          {"measurable", is_measured},
          {"guessed_shapes", row.guessed},
          {"clock", row.clock == Clock::kOwn ? "own" : "net"},
          {"language_us", row.compared.theirs.language_s * kUs}};
}

Fields fields_of(const Loading& loading, double bytes) {
  return {{"session_ms", loading.session_s * kMs},
          {"answer_ms", loading.answer_s * kMs},
          {"peak_growth_bytes", bytes}};
}

Fields fields_of(const LoadRow& row) {
  return {{"model", row.model},
          {"ours", fields_of(row.ours, row.ours_bytes)},
          {"theirs", fields_of(row.theirs, row.theirs_bytes)},
          {"ratio", fields_of(row.ratio)},
          {"memory_ratio", row.memory_ratio}};
}

Fields fields_of(const Geomean& mean) {
  return {{"threads", mean.threads},
          {"batch", mean.batch},
          {"ratio", mean.ratio},
          {"models", mean.rows}};
}

template <class Rows>
std::vector<Fields> list_of(const Rows& rows) {
  std::vector<Fields> list;
  for (const auto& row : rows) list.push_back(fields_of(row));
  return list;
}

}  // namespace

Report report_of(const Comparison& comparison) {
  Report report;
  if (!comparison.latency.empty()) report.tables += latency_text(comparison);
  if (!comparison.loads.empty()) report.tables += load_text(comparison);
  report.lists = {{"results", list_of(comparison.latency)},
                  {"loads", list_of(comparison.loads)},
                  {"geomeans", list_of(geomeans_of(comparison))}};
  report.rows = bars_of(comparison);
  report.faults = comparison.faults;
  report.notes = comparison.notes;
  std::vector<Ratio> ratios;
  for (const LatencyRow& row : comparison.latency) {
    if (row.not_measurable.empty()) ratios.push_back(row.compared.ratio);
  }
  if (std::string note = few_pairs_note(ratios); !note.empty())
    report.notes.push_back(std::move(note));
  for (const LatencyRow& row : comparison.latency) {
    const std::string named =
        fmt::format("{}, threads {}, batch {}", row.model, row.threads, row.batch);
    if (!row.not_measurable.empty()) {
      report.notes.push_back(fmt::format("{}: not measurable: {}", named, row.not_measurable));
    } else if (row.clock == Clock::kOwn) {
      report.notes.push_back(
          fmt::format("{}: theirs by its own clock, profiler and all: most of a run is its "
                      "language's",
                      named));
    }
  }
  return report;
}

}  // namespace commensal::lab::bench
