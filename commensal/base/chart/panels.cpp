// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/base/chart/panels.hpp>
#include <commensal/base/chart/picture.hpp>

namespace commensal::chart {
namespace {

// All in pixels.
constexpr int kWidth = 860;
constexpr int kMargin = 16;
constexpr int kLabelWidth = 150;
constexpr int kPlotWidth = kWidth - 2 * kMargin - kLabelWidth;
constexpr int kPanelHeight = 78;
constexpr int kGap = 14;
constexpr int kHead = 90;
constexpr int kFoot = 34;
constexpr int kLegendWidth = 170;
constexpr std::array kColours = {"#2b6ca3", "#d1782c", "#3a8a4d", "#7a5195"};

/// What is beyond the scale, or no number, is drawn at its edge.
double height_of(double value, double top) {
  const double share = std::isfinite(value) ? std::clamp(value / top, 0.0, 1.0) : 0;
  return kPanelHeight * (1 - share);
}

void draw(Picture& picture, const Panel& panel, double top, double y) {
  const double x = kMargin + kLabelWidth;
  picture.text(kMargin, y + 16, " font-weight=\"bold\"", cut(panel.label, 20));
  picture.text(kMargin, y + 34, " font-size=\"11\"", cut(panel.note, 26));
  picture.box(x, y, kPlotWidth, kPanelHeight, "#eef3f7");
  picture.text(x - 6, y + height_of(1, top) + 4, " text-anchor=\"end\" font-size=\"11\"", "1");
  picture.line(fmt::format("{:g},{:.1f} {:g},{:.1f}", x, y + height_of(1, top), x + kPlotWidth,
                           y + height_of(1, top)),
               "#b8c6d1", 1);
  std::size_t steps = 1;
  for (const Line& line : panel.lines) steps = std::max(steps, line.values.size());
  const double step = static_cast<double>(kPlotWidth) / static_cast<double>(steps);
  for (const std::size_t at : panel.breaks)
    picture.box(x + step * static_cast<double>(at), y, 1, kPanelHeight, "#ffffff");
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    std::string points;
    const auto& values = panel.lines[i].values;
    for (std::size_t at = 0; at < values.size(); ++at)
      points += fmt::format("{:.1f},{:.1f} ", x + step * (static_cast<double>(at) + 0.5),
                            y + height_of(values[at], top));
    picture.line(points, kColours[i % kColours.size()], 1.2);
  }
}

}  // namespace

std::string panels_svg(const Panels& panels) {
  const int count = static_cast<int>(panels.panels.size());
  Picture picture(kWidth, kHead + count * (kPanelHeight + kGap) + kFoot);
  picture.text(kMargin, 30, " font-size=\"18\" font-weight=\"bold\"", cut(panels.title, 80));
  picture.text(kMargin, 52, "", cut(panels.subtitle, 120));
  for (std::size_t i = 0; i < panels.legends.size(); ++i) {
    const double x = kMargin + kLabelWidth + static_cast<double>(i) * kLegendWidth;
    picture.box(x, 66, 14, 4, kColours[i % kColours.size()]);
    picture.text(x + 20, 72, " font-size=\"12\"", panels.legends[i]);
  }
  for (int i = 0; i < count; ++i) {
    draw(picture, panels.panels[static_cast<std::size_t>(i)], panels.top,
         kHead + i * (kPanelHeight + kGap));
  }
  picture.text(kWidth - kMargin, kHead + count * (kPanelHeight + kGap) + 14,
               " text-anchor=\"end\" font-size=\"11\"", panels.unit);
  return picture.take();
}

}  // namespace commensal::chart
