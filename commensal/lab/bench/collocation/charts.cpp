// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/chart/panels.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <commensal/lab/bench/collocation/run.hpp>
#include <commensal/lab/bench/statistics.hpp>

namespace commensal::lab::bench::collocation {
namespace {

constexpr auto kBin = static_cast<std::size_t>(kStretchS / kPointS);

/// The means of bins of the points' member, over `unit`.
void add_bins(const Slice& slice, double Point::*member, double unit, chart::Line& line) {
  for (std::size_t at = 0; at < slice.points.size(); at += kBin) {
    const std::size_t end = std::min(at + kBin, slice.points.size());
    double sum = 0;
    for (std::size_t i = at; i < end; ++i) sum += slice.points[i].*member;
    line.values.push_back(sum / static_cast<double>(end - at) / unit);
  }
}

chart::Panel panel_of(const ArmFigures& arm, const Slices& slices, std::string_view pair,
                      double host_rate, double images_per_s) {
  chart::Panel panel{
      arm.arm,
      fmt::format("kept {}, guest {:.3f}",
                  arm.kept ? fmt::format("{:.3f}", arm.kept->mean) : "unknown", arm.harvest),
      {{}, {}},
      {}};
  std::vector<const Slice*> own;
  for (const Slice& slice : slices.slices) {
    if (slice.pair == pair && slice.arm == arm.arm) own.push_back(&slice);
  }
  std::ranges::sort(own, {}, &Slice::begin_s);
  for (const Slice* slice : own) {
    if (!panel.lines[0].values.empty()) panel.breaks.push_back(panel.lines[0].values.size());
    add_bins(*slice, &Point::host_rate, host_rate, panel.lines[0]);
    add_bins(*slice, &Point::images_per_s, images_per_s, panel.lines[1]);
  }
  return panel;
}

/// The median over stretches; 0: there is none.
double rate_without_guest(const Slices& slices, std::string_view pair) {
  std::vector<double> rates;
  for (const Slice& slice : slices.slices) {
    if (slice.pair != pair) continue;
    for (const Epoch& epoch : slice.epochs) {
      if (!epoch.is_let && epoch.work_s > 0) rates.push_back(epoch.work / epoch.work_s);
    }
  }
  return rates.empty() ? 0 : bench::median(rates);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> collocation_charts(
    const Slices& slices, const std::vector<PairFigures>& pairs) {
  std::vector<std::pair<std::string, std::string>> made;
  for (const PairFigures& pair : pairs) {
    const double own_rate = rate_without_guest(slices, pair.pair);
    if (own_rate <= 0) continue;
    chart::Panels picture{pair.pair,
                          "Stretches of 4 s, with the guest let or stopped as a coin had it; each "
                          "arm's slices one after the other",
                          {"host, of its own", "guest, of full speed"},
                          1.2,
                          "time",
                          {}};
    for (const ArmFigures& arm : pair.arms) {
      picture.panels.push_back(panel_of(arm, slices, pair.pair, own_rate, pair.alone_images_per_s));
    }
    made.emplace_back(pair.pair + ".svg", chart::panels_svg(picture));
  }
  return made;
}

}  // namespace commensal::lab::bench::collocation
