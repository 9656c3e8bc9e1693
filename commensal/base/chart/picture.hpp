// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace commensal::chart {

/// A picture under way: SVG 1.1, all lengths in pixels.
class Picture {
 public:
  Picture(int width, int height);

  /// `more`: attributes, each after a space.
  void text(double x, double y, const char* more, const std::string& what);
  void box(double x, double y, double width, double height, const char* colour);
  /// `points`: "x,y x,y ...".
  void line(const std::string& points, const char* colour, double width);
  /// What was drawn; nothing can be added after it.
  std::string take();

 private:
  std::string svg_;
};

/// At most so many characters of UTF-8.
std::string cut(const std::string& text, std::size_t chars_max);

}  // namespace commensal::chart
