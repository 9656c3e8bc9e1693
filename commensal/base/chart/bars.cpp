// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/chart/bars.hpp>
#include <iterator>
#include <utility>

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

/// At most so many characters of UTF-8.
std::string cut(const std::string& text, std::size_t chars_max) {
  std::size_t chars = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (++chars > chars_max) return text.substr(0, at);
  }
  return text;
}

class Picture {
 public:
  void text(int x, int y, const char* more, const std::string& what) {
    fmt::format_to(std::back_inserter(svg_), "  <text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, more,
                   xml_text(what));
  }
  void box(int x, int y, double width, int height, const char* colour) {
    fmt::format_to(std::back_inserter(svg_),
                   "  <rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n", x, y,
                   width, height, colour);
  }
  std::string take() { return std::move(svg_) + "</svg>\n"; }

  explicit Picture(int height)
      : svg_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                         "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\" "
                         "fill=\"#1c2730\">\n",
                         kWidth, height)) {}

 private:
  std::string svg_;
};

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

std::string xml_text(const std::string& text) {
  constexpr std::pair<char, const char*> kEscapes[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string made;
  for (const char c : text) {
    const auto* const found = std::ranges::find(kEscapes, c, [](auto& pair) { return pair.first; });
    if (found != std::end(kEscapes)) {
      made += found->second;
    } else {
      made += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return made;
}

std::string bars_svg(const std::string& title, const std::string& subtitle,
                     const std::vector<Bar>& bars) {
  const int rows = static_cast<int>(bars.size());
  const int height = kHead + rows * kRow + kFoot;
  Picture picture(height);
  picture.box(0, 0, kWidth, height, "#ffffff");
  picture.text(kMargin, 30, " font-size=\"18\" font-weight=\"bold\"", cut(title, 70));
  picture.text(kMargin, 52, "", cut(subtitle, kTitleCharsMax));
  for (int row = 0; row < rows; ++row) {
    draw(picture, bars[static_cast<std::size_t>(row)], kHead + row * kRow);
  }
  const int legend = kHead + rows * kRow + 8;
  const int x = kMargin + kLabelWidth;
  picture.box(x, legend, 14, 14, kUsedColour);
  picture.text(x + 20, legend + 12, "", "used");
  picture.box(x + 80, legend, 14, 14, kLeftColour);
  picture.text(x + 100, legend + 12, "", "left");
  return picture.take();
}

}  // namespace commensal::chart
