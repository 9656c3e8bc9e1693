// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace commensal::chart {

/// A horizontal bar: how much of something is used, and what is left.
struct Bar {
  std::string label;
  double used = 0;   // share, 0 to 1; what is beyond is drawn as 0 or 1
  std::string note;  // at the bar's end
};

/// What a bar's two shares are called.
struct Legend {
  std::string used = "used";
  std::string left = "left";
};

/// A bar chart as a picture that stands alone (SVG 1.1): title, a line below it, a bar for each
/// entry with its two shares in per cent, a legend. Any text may be given; it is escaped. Labels
/// and notes that are longer than the picture has room for are cut.
std::string bars_svg(const std::string& title, const std::string& subtitle,
                     const std::vector<Bar>& bars, const Legend& legend = {});

/// As text between tags and in attributes of XML; what XML cannot hold becomes a question mark.
std::string xml_text(const std::string& text);

}  // namespace commensal::chart
