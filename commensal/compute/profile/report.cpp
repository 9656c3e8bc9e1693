// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/profile/profiler.hpp>
#include <nlohmann/json.hpp>

namespace commensal::profile {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kGiga = 1e-9;

std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}", 100 * part / whole) : "-";
}

std::string figures(const Row& row, const Profile& profile) {
  const double seconds = std::max(row.seconds, 1e-9);
  const double ops = static_cast<double>(row.work.ops) / seconds;
  const double bytes = static_cast<double>(row.work.bytes) / seconds;
  return fmt::format("{:>9.3f} {:>6} {:>8.1f} {:>7} {:>8.1f} {:>7}", 1e3 * row.seconds,
                     share(row.seconds, profile.run_seconds), ops * kGiga,
                     share(ops, profile.peak.ops_per_s), bytes * kGiga,
                     share(bytes, profile.peak.bytes_per_s));
}

constexpr const char* kHead = "       ms % time  GFLOP/s  % peak     GB/s  % peak";

std::string peak_text(const Profile& profile) {
  if (profile.peak.ops_per_s <= 0) return "";
  return fmt::format("; measured peak {:.0f} GFLOP/s, {:.1f} GB/s of memory",
                     profile.peak.ops_per_s * kGiga, profile.peak.bytes_per_s * kGiga);
}

Json event(const std::string& name, const std::string& kind, std::int64_t start_ns,
           std::int64_t end_ns, Json details) {
  return {{"name", name},
          {"cat", kind},
          {"ph", "X"},
          {"ts", 1e-3 * static_cast<double>(start_ns)},
          {"dur", 1e-3 * static_cast<double>(end_ns - start_ns)},
          {"pid", 1},
          {"tid", 1},
          {"args", std::move(details)}};
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string text =
      fmt::format("{:.3f} ms, median of {} runs after a first one{}\n\n{}  operator\n",
                  1e3 * profile.run_seconds, profile.runs, peak_text(profile), kHead);
  double nodes_s = 0;
  for (const Row& row : profile.by_operator) {
    text += fmt::format("{}  {} ({})\n", figures(row, profile), row.op, row.nodes);
    nodes_s += row.seconds;
  }
  const double rest_s = profile.run_seconds - nodes_s;
  std::string plain;
  for (const Row& row : profile.by_operator) {
    if (row.is_plain) plain += (plain.empty() ? "" : ", ") + row.op;
  }
  text += fmt::format("{:>9.3f} {:>6} {:>36} between nodes\n\n{}  node\n", 1e3 * rest_s,
                      share(rest_s, profile.run_seconds), "", kHead);
  for (const Row& row : profile.by_node) {
    text += fmt::format("{}  {} ({}) {}\n", figures(row, profile), row.name, row.op, row.output);
  }
  if (!plain.empty())
    text += fmt::format("\nIn plain loops, as no fast kernel takes such calls: {}.\n", plain);
  text +=
      "\nOperations are those of the direct form: above 100 % of the peak is a convolution by a "
      "shorter one.\nBytes are those of inputs and outputs: above 100 % they came from a cache.\n";
  return text;
}

std::string trace_json(const Profiler& profiler) {
  Json events = Json::array();
  const auto& runs = profiler.runs();
  const std::int64_t zero_ns = runs.empty() ? 0 : runs.front().start_ns;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunTime& run = runs[i];
    events.push_back(event(i == 0 ? "first run" : fmt::format("run {}", i), "run",
                           run.start_ns - zero_ns, run.end_ns - zero_ns, Json::object()));
    for (const NodeTime& node : run.nodes) {
      events.push_back(event(node.name, node.op, node.start_ns - zero_ns, node.end_ns - zero_ns,
                             {{"operator", node.op},
                              {"output", node.output},
                              {"operations", node.work.ops},
                              {"bytes", node.work.bytes}}));
    }
  }
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace commensal::profile
