// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <commensal/base/chart/bars.hpp>
#include <commensal/base/chart/picture.hpp>
#include <iterator>
#include <utility>

namespace commensal::chart {

std::string cut(const std::string& text, std::size_t chars_max) {
  std::size_t chars = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (++chars > chars_max) return text.substr(0, at);
  }
  return text;
}

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

Picture::Picture(int width, int height)
    : svg_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                       "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\" "
                       "fill=\"#1c2730\">\n",
                       width, height)) {
  box(0, 0, width, height, "#ffffff");
}

void Picture::text(double x, double y, const char* more, const std::string& what) {
  fmt::format_to(std::back_inserter(svg_), "  <text x=\"{:g}\" y=\"{:g}\"{}>{}</text>\n", x, y,
                 more, xml_text(what));
}

void Picture::box(double x, double y, double width, double height, const char* colour) {
  fmt::format_to(std::back_inserter(svg_),
                 "  <rect x=\"{:g}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"{}\"/>\n",
                 x, y, width, height, colour);
}

void Picture::line(const std::string& points, const char* colour, double width) {
  fmt::format_to(std::back_inserter(svg_),
                 "  <polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"/>\n",
                 points, colour, width);
}

std::string Picture::take() { return std::move(svg_) + "</svg>\n"; }

}  // namespace commensal::chart
