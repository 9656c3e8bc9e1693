// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace commensal::chart {

/// One line over time: a value for each step of time.
struct Line {
  std::vector<double> values;  // 0 to the panel's top; what is beyond is drawn as if at the edge
};

/// A strip of a chart with its own lines, all on one scale.
struct Panel {
  std::string label;
  std::string note;         // below the label
  std::vector<Line> lines;  // as many as there are legends
  std::vector<std::size_t> breaks;  // steps at which something new begins
};

struct Panels {
  std::string title;
  std::string subtitle;
  std::vector<std::string> legends;  // of the lines, at most four
  double top = 1;                    // the scale is from 0 to it
  std::string unit;                  // of a step, under the axis
  std::vector<Panel> panels;
};

/// Panels below each other as a picture that stands alone (SVG 1.1). Any text may be given.
std::string panels_svg(const Panels& panels);

}  // namespace commensal::chart
