// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/lab/bench/collocation/figures.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <iterator>

namespace commensal::lab::bench::collocation {
namespace {

constexpr double kPromise = 0.99;
constexpr double kWorstBeyond = 0.01;
constexpr double kP99Ratio = 1.05;
constexpr double kGovernorCpu = 0.0005;
constexpr double kNearFirst = 0.97;  // of the best harvest: as good as first

/// Among the arms whose mean keeps the promise: 1 is the best, and whoever is near it.
int harvest_rank(const PairFigures& pair, const ArmFigures& ours) {
  int rank = 1;
  for (const ArmFigures& arm : pair.arms) {
    if (arm.arm == kControlArm || arm.arm == ours.arm || arm.kept.mean < kPromise) continue;
    if (ours.harvest < kNearFirst * arm.harvest) ++rank;
  }
  return rank;
}

bench::Row row(const PairFigures& pair, const char* name, double value, std::optional<double> limit,
               bool at_most, std::string how) {
  return {pair.pair + "." + name, value, value, value, limit, std::move(how), at_most};
}

void add_bars(const PairFigures& pair, const ArmFigures& control, const ArmFigures& ours,
              std::vector<bench::Row>& rows) {
  rows.push_back(row(
      pair, "kept_lower_95", ours.kept.low, kPromise, false,
      fmt::format("{} slices; the control against itself: {:.4f}", ours.slices, control.kept.low)));
  if (ours.kept_within) {
    rows.push_back(row(pair, "kept_within_lower_95", ours.kept_within->low, kPromise, false,
                       fmt::format("mean {:.4f}, worst slice {:.4f}; against the guest's own rests",
                                   ours.kept_within->mean, ours.worst_within)));
  }
  rows.push_back(row(pair, "worst_minute_beyond_control", control.worst_minute - ours.worst_minute,
                     kWorstBeyond, true,
                     fmt::format("worst slice {:.4f}, of the control {:.4f}", ours.worst_minute,
                                 control.worst_minute)));
  if (ours.p99) {
    rows.push_back(row(pair, "p99_ratio", ours.p99->mean, kP99Ratio, true,
                       "over the control's in the same block"));
    rows.back().low = ours.p99->low;
    rows.back().high = ours.p99->high;
  }
  rows.push_back(row(pair, "harvest_rank", harvest_rank(pair, ours), 1, true,
                     "among the arms whose mean keeps 99 %; within 3 % counts as first"));
  rows.push_back(row(pair, "governor_cpu_share", ours.governor_cpu, kGovernorCpu, true,
                     "of all processors' time: probe and governor"));
}

std::string interval(const Share95& share) {
  return fmt::format("{:.4f}..{:.4f}", share.low, share.high);
}

}  // namespace

std::vector<bench::Row> rows_of(const std::vector<PairFigures>& pairs) {
  std::vector<bench::Row> rows;
  for (const PairFigures& pair : pairs) {
    if (pair.stolen) {
      rows.push_back(row(pair, "stolen", pair.stolen->second, std::nullopt, false,
                         "share of a slice, the worst; the machine's own disturbance"));
      rows.back().low = pair.stolen->first;
    }
    for (const ArmFigures& arm : pair.arms) {
      rows.push_back(row(pair, "kept", arm.kept.mean, std::nullopt, false,
                         fmt::format("{}, {} slices", arm.arm, arm.slices)));
      rows.back().name += "." + arm.arm;
      rows.back().low = arm.kept.low;
      rows.back().high = arm.kept.high;
      rows.push_back(row(pair, "harvest", arm.harvest, std::nullopt, false,
                         fmt::format("{}, {:.2f} of {:.2f} images/s", arm.arm, arm.images_per_s,
                                     pair.alone_images_per_s)));
      rows.back().name += "." + arm.arm;
    }
    const ArmFigures* const control = pair.find(kControlArm);
    const ArmFigures* const ours = pair.find(kOurArm);
    if (control != nullptr && ours != nullptr) add_bars(pair, *control, *ours, rows);
  }
  return rows;
}

std::string text_of(const std::vector<PairFigures>& pairs) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const PairFigures& pair : pairs) {
    fmt::format_to(out, "{} (the guest alone: {:.2f} images/s)\n", pair.pair,
                   pair.alone_images_per_s);
    if (pair.stolen) {
      fmt::format_to(out, "  others on the hardware took {:.1f} to {:.1f} % of a slice\n",
                     100 * pair.stolen->first, 100 * pair.stolen->second);
    }
    fmt::format_to(out, "  {:<13}{:>7}{:>9}{:>16}{:>19}{:>8}{:>10}{:>9}{:>7}\n", "arm", "slices",
                   "kept", "95 % interval", "within, interval", "worst", "images/s", "harvest",
                   "p99");
    for (const ArmFigures& arm : pair.arms) {
      fmt::format_to(out, "  {:<13}{:>7}{:>9.4f}{:>16}{:>19}{:>8.4f}{:>10.2f}{:>9.4f}{:>7}\n",
                     arm.arm, arm.slices, arm.kept.mean, interval(arm.kept),
                     arm.kept_within ? interval(*arm.kept_within) : "-", arm.worst_minute,
                     arm.images_per_s, arm.harvest,
                     arm.p99 ? fmt::format("{:.3f}", arm.p99->mean) : "-");
    }
    const ArmFigures* const ours = pair.find(kOurArm);
    if (ours != nullptr) fmt::format_to(out, "  {}\n", ours->said);
  }
  return text;
}

Report report_of(const std::vector<PairFigures>& pairs) {
  Report report = bench::report_of(rows_of(pairs));
  report.tables = text_of(pairs);
  return report;
}

}  // namespace commensal::lab::bench::collocation
