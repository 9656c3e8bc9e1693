// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/lab/bench/collocation/figures.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <iterator>

namespace commensal::lab::bench::collocation {
namespace {

constexpr double kKept = 0.99;
constexpr double kHarvest = 0.5;        // of a guest at full speed ...
constexpr double kHarvestLoss = 0.004;  // ... or what costs the host so much: 0.8 x 0.5 %
constexpr double kP99Ratio = 1.05;
constexpr double kP99Width = 0.05;  // of an interval that shows something
constexpr double kGovernorCpu = 0.0005;
constexpr double kNearFirst = 0.97;                  // of the best harvest: as good as first
constexpr std::string_view kFreeArm = "sched_idle";  // full speed, in the rank that ours has

std::string interval(const std::optional<Share95>& share) {
  return share ? fmt::format("{:.4f}..{:.4f}", share->low, share->high) : "-";
}

bench::Row row(std::string name, const Share95& share, std::string how) {
  return {std::move(name), share.mean, share.low, share.high, std::nullopt, std::move(how)};
}

bench::Row bar(std::string name, double value, double limit, bool at_most, std::string how) {
  return {std::move(name), value, value, value, limit, std::move(how), at_most};
}

bench::Row kept_bar(const std::string& pair, const ArmFigures& ours) {
  return bar(pair + ".kept_lower_95", ours.kept ? ours.kept->low : -INFINITY, kKept, false,
             fmt::format("{} stretches with the guest, {} without; {}", ours.let, ours.stopped,
                         interval(ours.kept)));
}

/// What a guest could have had is told by the one at full speed beside the same host, where that
/// was measured.
bench::Row harvest_bar(const PairFigures& pair, const ArmFigures& ours) {
  const ArmFigures* const free = pair.find(kFreeArm);
  if (free == nullptr || !free->kept || free->images_per_s <= 0) {
    return bar(pair.pair + ".harvest", ours.harvest, kHarvest, false,
               "of the guest alone; what full speed costs was not measured");
  }
  const double cost = std::max(0.0, 1 - free->kept->mean);
  const double limit = cost > 0 ? std::min(kHarvest, kHarvestLoss / cost) : kHarvest;
  return bar(pair.pair + ".harvest", ours.images_per_s / free->images_per_s, limit, false,
             fmt::format("of {:.2f} images/s at full speed beside the host, which cost it {:.2f} %",
                         free->images_per_s, 100 * cost));
}

bench::Row p99_bar(const std::string& pair, const Share95& p99) {
  const bool is_shown = p99.high - p99.low <= kP99Width;
  bench::Row made =
      bar(pair + ".p99_ratio", is_shown ? p99.mean : p99.high, kP99Ratio, true,
          is_shown ? "with the guest over without"
                   : fmt::format("not shown: the interval is wider than {}, and its "
                                 "upper end counts; with the guest over without {:.4f}",
                                 kP99Width, p99.mean));
  made.low = p99.low;
  made.high = p99.high;
  return made;
}

/// One arm over all pairs.
struct Overall {
  bool is_everywhere = true;  // with enough stretches to tell
  bool keeps = true;          // on every pair
  double harvest = 0;
};

Overall overall(const std::vector<PairFigures>& pairs, std::string_view arm) {
  Overall made;
  for (const PairFigures& pair : pairs) {
    const ArmFigures* const own = pair.find(arm);
    if (own == nullptr || !own->kept) return {.is_everywhere = false};
    made.keeps = made.keeps && own->keeps();
    made.harvest += own->harvest / static_cast<double>(pairs.size());
  }
  return made;
}

/// None: nobody to compare with.
std::optional<bench::Row> rank_bar(const std::vector<PairFigures>& pairs) {
  const Overall ours = overall(pairs, kOurArm);
  int rank = 1;
  std::string keepers;
  bool is_compared = false;
  for (const Arm& arm : collocation_arms()) {
    if (arm.name == kControlArm || arm.name == kOurArm) continue;
    const Overall other = overall(pairs, arm.name);
    if (!other.is_everywhere) continue;
    is_compared = true;
    if (!other.keeps) continue;
    keepers += fmt::format(" {} {:.4f}", arm.name, other.harvest);
    if (!ours.keeps || ours.harvest < kNearFirst * other.harvest) ++rank;
  }
  if (!is_compared || !ours.is_everywhere) return std::nullopt;
  if (!ours.keeps) rank = std::max(rank, 2);
  return bar("harvest_rank", rank, 1, true,
             fmt::format("ours {:.4f}{}; others that keep 99 % on all pairs, on average:{}",
                         ours.harvest, ours.keeps ? "" : ", which does not keep 99 %",
                         keepers.empty() ? " none" : keepers));
}

void add_pair(const PairFigures& pair, std::vector<bench::Row>& rows) {
  if (pair.stolen) {
    const auto [least, most] = *pair.stolen;
    rows.push_back(row(pair.pair + ".stolen", {most, least, most},
                       "share of a slice, the worst; the machine's own disturbance"));
  }
  for (const ArmFigures& arm : pair.arms) {
    const auto name = [&](const char* figure) { return pair.pair + figure + arm.arm; };
    if (arm.kept) {
      rows.push_back(row(name(".kept."), *arm.kept,
                         fmt::format("{} stretches with the guest, {} without, of {} slices",
                                     arm.let, arm.stopped, arm.slices)));
    }
    if (arm.kept_by_clock) {
      rows.push_back(row(name(".kept_by_clock."), *arm.kept_by_clock,
                         "others' use of the processors is in it"));
    }
    rows.push_back(row(name(".harvest."), {arm.harvest, arm.harvest, arm.harvest},
                       fmt::format("{:.2f} images/s while it is let, of {:.2f} alone",
                                   arm.images_per_s, pair.alone_images_per_s)));
    if (arm.p99) rows.push_back(row(name(".p99."), *arm.p99, "with the guest over without"));
  }
  const ArmFigures* const ours = pair.find(kOurArm);
  if (ours == nullptr) return;
  rows.push_back(kept_bar(pair.pair, *ours));
  rows.push_back(harvest_bar(pair, *ours));
  if (ours->p99) rows.push_back(p99_bar(pair.pair, *ours->p99));
  rows.push_back(bar(pair.pair + ".governor_cpu_share", ours->governor_cpu, kGovernorCpu, true,
                     "of all processors' time: probe and governor"));
}

}  // namespace

std::vector<bench::Row> rows_of(const std::vector<PairFigures>& pairs) {
  std::vector<bench::Row> rows;
  for (const PairFigures& pair : pairs) add_pair(pair, rows);
  if (auto rank = rank_bar(pairs)) rows.push_back(*std::move(rank));
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
    fmt::format_to(out, "  {:<13}{:>12}{:>9}{:>16}{:>10}{:>9}{:>16}\n", "arm", "with/out", "kept",
                   "95 % interval", "images/s", "harvest", "p99, interval");
    for (const ArmFigures& arm : pair.arms) {
      fmt::format_to(out, "  {:<13}{:>12}{:>9}{:>16}{:>10.2f}{:>9.4f}{:>16}\n", arm.arm,
                     fmt::format("{}/{}", arm.let, arm.stopped),
                     arm.kept ? fmt::format("{:.4f}", arm.kept->mean) : "-", interval(arm.kept),
                     arm.images_per_s, arm.harvest, interval(arm.p99));
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
