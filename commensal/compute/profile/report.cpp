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

/// A rate and its share of the peak; nothing was counted: dashes.
std::string rate(double count, double seconds, double peak) {
  if (count <= 0) return fmt::format("{:>8} {:>7}", "-", "-");
  const double rate = count / std::max(seconds, 1e-9);
  return fmt::format("{:>8.1f} {:>7}", rate * kGiga, share(rate, peak));
}

std::string figures(const Row& row, const Profile& profile) {
  return fmt::format("{:>9.3f} {:>6} {} {}", 1e3 * row.seconds,
                     share(row.seconds, profile.run_seconds),
                     rate(row.ops, row.seconds, profile.peak.ops_per_s),
                     rate(row.bytes, row.seconds, profile.peak.bytes_per_s));
}

/// Of loops; nothing where each node has one turn.
std::string turns_text(const Row& row) {
  return row.turns == row.nodes ? "" : fmt::format(", {} turns", row.turns);
}

constexpr const char* kHead = "       ms % time  GFLOP/s  % peak     GB/s  % peak";

std::string peak_text(const Profile& profile) {
  if (profile.peak.ops_per_s <= 0) return "";
  return fmt::format("; measured peak {:.0f} GFLOP/s, {:.1f} GB/s of memory",
                     profile.peak.ops_per_s * kGiga, profile.peak.bytes_per_s * kGiga);
}

std::string event(const std::string& name, const std::string& kind, std::int64_t start_ns,
                  std::int64_t end_ns, Json details) {
  const Json made = {{"name", name},
                     {"cat", kind},
                     {"ph", "X"},
                     {"ts", 1e-3 * static_cast<double>(start_ns)},
                     {"dur", 1e-3 * static_cast<double>(end_ns - start_ns)},
                     {"pid", 1},
                     {"tid", 1},
                     {"args", std::move(details)}};
  return made.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Of a turn: the operations and bytes are the mean of those that the node had.
Json details_of(const NodeTimes& node) {
  Json details = {{"operator", node.op}, {"output", node.output}};
  const NodeTimes::Sum& sum = node.runs.back();
  if (node.varies || sum.turns == 0) return details;
  if (node.counts) details["operations"] = sum.ops / static_cast<double>(sum.turns);
  details["bytes"] = sum.bytes / static_cast<double>(sum.turns);
  return details;
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string text = fmt::format(
      "{:.3f} ms, median of {} runs after a first one; the profiler's own {:.3f} ms "
      "are taken off{}\n\n{}  operator\n",
      1e3 * profile.run_seconds, profile.runs, 1e3 * profile.own_seconds, peak_text(profile),
      kHead);
  for (const Row& row : profile.by_operator) {
    text +=
        fmt::format("{}  {} ({}{})\n", figures(row, profile), row.op, row.nodes, turns_text(row));
  }
  std::string plain;
  for (const Row& row : profile.by_operator) {
    if (row.is_plain) plain += (plain.empty() ? "" : ", ") + row.op;
  }
  text += fmt::format("{:>9.3f} {:>6} {:>36} between nodes\n\n{}  node\n",
                      1e3 * profile.between_seconds,
                      share(profile.between_seconds, profile.run_seconds), "", kHead);
  for (const Row& row : profile.by_node) {
    text += fmt::format("{}  {} ({}{}) {}{}\n", figures(row, profile), row.name, row.op,
                        turns_text(row), row.output, row.is_plain ? ", in plain loops" : "");
  }
  if (!plain.empty()) text += fmt::format("\nIn plain loops: {}.\n", plain);
  text +=
      "\nGFLOP/s: of products alone, by the direct form (a shorter one exceeds the peak). GB/s: of "
      "inputs and outputs (a cache does).\n";
  return text;
}

Trace trace_of(const Profiler& profiler, std::size_t bytes_max) {
  const auto& runs = profiler.runs();
  const std::int64_t zero_ns = runs.empty() ? 0 : runs.front().start_ns;
  std::string events;
  const auto add = [&](const std::string& made) { events += (events.empty() ? "" : ",\n") + made; };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    add(event(i == 0 ? "first run" : fmt::format("run {}", i), "run", runs[i].start_ns - zero_ns,
              runs[i].end_ns - zero_ns, Json::object()));
  }
  Trace trace;
  for (const Turn& turn : profiler.turns()) {
    const NodeTimes& node = profiler.nodes()[turn.node];
    if (events.size() >= bytes_max) break;
    add(event(node.name, node.op, turn.start_ns - zero_ns, turn.end_ns - zero_ns,
              details_of(node)));
    ++trace.turns;
  }
  trace.left_out =
      profiler.turns_left_out() + static_cast<std::int64_t>(profiler.turns().size()) - trace.turns;
  trace.json = fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"turns_left_out\":{}}},\"traceEvents\":[\n{}]}"
      "}\n",
      trace.left_out, events);
  return trace;
}

}  // namespace commensal::profile
