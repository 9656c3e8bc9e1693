// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/chart/bars.hpp>
#include <commensal/base/chart/picture.hpp>

namespace commensal::chart {
namespace {

// All in pixels.
constexpr int kWidth = 720;
constexpr int kMargin = 16;
constexpr int kLabelWidth = 150;
constexpr int kBarWidth = 330;
constexpr int kBarHeight = 22;
constexpr int kRow = 36;
constexpr int kHead = 76;  // above the first bar
constexpr int kFoot = 40;  // below the last: the legend
constexpr int kRoom = 26;  // a share's text fits into a bar of so many
constexpr std::size_t kLabelCharsMax = 20;
constexpr std::size_t kNoteCharsMax = 26;
constexpr std::size_t kTitleCharsMax = 90;
constexpr const char* kUsedColour = "#2b6ca3";
constexpr const char* kLeftColour = "#dfe8ef";

void draw(Picture& picture, const Bar& bar, int y) {
  const double used = std::isfinite(bar.used) ? std::clamp(bar.used, 0.0, 1.0) : 0;
  const int x = kMargin + kLabelWidth;
  const int base = y + 16;  // of the text
  picture.text(x - 10, base, " text-anchor=\"end\"", cut(bar.label, kLabelCharsMax));
  picture.box(x, y, kBarWidth, kBarHeight, kLeftColour);
  picture.box(x, y, used * kBarWidth, kBarHeight, kUsedColour);
  const long used_percent = std::lround(100 * used);
  if (used * kBarWidth >= kRoom + 10) {
    picture.text(x + 8, base, " fill=\"#ffffff\"", fmt::format("{} %", used_percent));
  }
  if ((1 - used) * kBarWidth >= kRoom + 10) {
    picture.text(x + kBarWidth - 8, base, " text-anchor=\"end\"",
                 fmt::format("{} %", 100 - used_percent));
  }
  picture.text(x + kBarWidth + 12, base, "", cut(bar.note, kNoteCharsMax));
}

}  // namespace

std::string bars_svg(const std::string& title, const std::string& subtitle,
                     const std::vector<Bar>& bars, const Legend& legend) {
  const int rows = static_cast<int>(bars.size());
  const int height = kHead + rows * kRow + kFoot;
  Picture picture(kWidth, height);
  picture.text(kMargin, 30, " font-size=\"18\" font-weight=\"bold\"", cut(title, 70));
  picture.text(kMargin, 52, "", cut(subtitle, kTitleCharsMax));
  for (int row = 0; row < rows; ++row) {
    draw(picture, bars[static_cast<std::size_t>(row)], kHead + row * kRow);
  }
  const int y = kHead + rows * kRow + 8;
  const int x = kMargin + kLabelWidth;
  picture.box(x, y, 14, 14, kUsedColour);
  picture.text(x + 20, y + 12, "", cut(legend.used, 7));
  picture.box(x + 80, y, 14, 14, kLeftColour);
  picture.text(x + 100, y + 12, "", cut(legend.left, kTitleCharsMax));
  return picture.take();
}

}  // namespace commensal::chart
