// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/report.hpp>
#include <map>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kMs = 1e3;
constexpr double kMB = 1e-6;

struct Geomean {
  int threads;
  std::int64_t batch;
  double ratio;
  std::size_t rows;
};

std::vector<Geomean> geomeans_of(const BenchReport& report) {
  std::map<std::pair<std::int64_t, int>, std::vector<double>> groups;
  for (const LatencyRow& row : report.latency) {
    groups[{row.batch, row.threads}].push_back(row.ratio.value);
  }
  std::vector<Geomean> means;
  for (const auto& [key, ratios] : groups) {
    means.push_back({key.second, key.first, geometric_mean(ratios), ratios.size()});
  }
  return means;
}

std::string latency_text(const BenchReport& report) {
  std::string text =
      fmt::format("{:<20} {:>7} {:>5} {:>9} {:>9} {:>6}  {:<11} {}\n", "model", "threads", "batch",
                  "ours ms", "theirs ms", "ratio", "quartiles", "rejected");
  for (const LatencyRow& row : report.latency) {
    text += fmt::format(
        "{:<20} {:>7} {:>5} {:>9.3f} {:>9.3f} {:>6.3f}  {:.3f}-{:.3f} {}+{} of {}{}\n", row.model,
        row.threads, row.batch, row.ours.median_s * kMs, row.theirs.median_s * kMs, row.ratio.value,
        row.ratio.low, row.ratio.high, row.ours.rejected, row.theirs.rejected, row.ours.repeats,
        row.ours.busy || row.theirs.busy ? " (busy machine)" : "");
  }
  for (const Geomean& mean : geomeans_of(report)) {
    text += fmt::format("geometric mean       {:>7} {:>5} {:>26.3f}  of {}\n", mean.threads,
                        mean.batch, mean.ratio, mean.rows);
  }
  return text;
}

std::string load_text(const BenchReport& report) {
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

Json side_json(const Side& side) {
  return {{"median_ms", side.median_s * kMs},
          {"repeats", side.repeats},
          {"rejected", side.rejected},
          {"busy", side.busy}};
}

Json ratio_json(const Ratio& ratio) {
  return {{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}};
}

Json latency_json(const LatencyRow& row) {
  return {{"model", row.model},
          {"threads", row.threads},
          {"batch", row.batch},
          {"ours", side_json(row.ours)},
          {"theirs", side_json(row.theirs)},
          {"ratio", ratio_json(row.ratio)}};
}

Json loading_json(const Loading& loading, double bytes) {
  return {{"session_ms", loading.session_s * kMs},
          {"answer_ms", loading.answer_s * kMs},
          {"peak_growth_bytes", bytes}};
}

Json load_json(const LoadRow& row) {
  return {{"model", row.model},
          {"ours", loading_json(row.ours, row.ours_bytes)},
          {"theirs", loading_json(row.theirs, row.theirs_bytes)},
          {"ratio", ratio_json(row.ratio)},
          {"memory_ratio", row.memory_ratio}};
}

}  // namespace

std::string report_text(const BenchReport& report) {
  std::string text;
  if (!report.latency.empty()) text += latency_text(report);
  if (!report.loads.empty()) text += load_text(report);
  for (const std::string& note : report.notes) text += fmt::format("\nleft out: {}", note);
  if (!report.notes.empty()) text += '\n';
  text += "\nbars (ours/theirs, lower is better)\n";
  for (const Bar& bar : bars_of(report)) {
    text += fmt::format("{:<4} {:<20} {:.3f} <= {:.2f}  {:.3f}-{:.3f}  ({})\n",
                        bar.ok() ? "ok" : "MISS", bar.name, bar.value, bar.limit, bar.low, bar.high,
                        bar.over);
  }
  return text;
}

std::string report_json(const BenchReport& report) {
  Json json = {{"results", Json::array()},
               {"loads", Json::array()},
               {"geomeans", Json::array()},
               {"bars", Json::array()},
               {"notes", report.notes}};
  for (const LatencyRow& row : report.latency) json["results"].push_back(latency_json(row));
  for (const LoadRow& row : report.loads) json["loads"].push_back(load_json(row));
  for (const Geomean& mean : geomeans_of(report)) {
    json["geomeans"].push_back({{"threads", mean.threads},
                                {"batch", mean.batch},
                                {"ratio", mean.ratio},
                                {"models", mean.rows}});
  }
  for (const Bar& bar : bars_of(report)) {
    json["bars"].push_back({{"name", bar.name},
                            {"value", bar.value},
                            {"low", bar.low},
                            {"high", bar.high},
                            {"limit", bar.limit},
                            {"ok", bar.ok()},
                            {"over", bar.over}});
  }
  return json.dump(2);
}

}  // namespace commensal::lab::bench
