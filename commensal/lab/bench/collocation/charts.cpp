// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/chart/panels.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <commensal/lab/bench/collocation/run.hpp>
#include <commensal/lab/bench/statistics.hpp>

namespace commensal::lab::bench::collocation {
namespace {

constexpr std::size_t kBin = 20;  // points: 5 s; a picture is no wider

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
      arm.arm, fmt::format("kept {:.3f}, guest {:.3f}", arm.kept.mean, arm.harvest), {{}, {}}, {}};
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

}  // namespace

std::vector<std::pair<std::string, std::string>> collocation_charts(const Slices& slices) {
  std::vector<std::pair<std::string, std::string>> made;
  for (const PairFigures& pair : figures_of(slices)) {
    std::vector<double> rates;
    for (const Slice& slice : slices.slices) {
      if (slice.pair == pair.pair && slice.arm == kControlArm) rates.push_back(slice.host_rate);
    }
    chart::Panels picture{pair.pair,
                          "Means of 5 s; each arm's slices one after the other, the host's rate "
                          "over the controls' median",
                          {"host, of its own", "guest, of full speed"},
                          1.2,
                          "time",
                          {}};
    for (const ArmFigures& arm : pair.arms) {
      picture.panels.push_back(
          panel_of(arm, slices, pair.pair, bench::median(rates), pair.alone_images_per_s));
    }
    made.emplace_back(pair.pair + ".svg", chart::panels_svg(picture));
  }
  return made;
}

}  // namespace commensal::lab::bench::collocation
