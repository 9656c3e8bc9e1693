// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/chart/bars.hpp>
#include <commensal/base/chart/panels.hpp>
#include <vector>

namespace commensal::chart {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Every tag closed, in the order of a stack; enough to tell well-formed from broken.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    } else if (open.empty() || open.back() != tag.substr(1)) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(Bars, ShowTitleLabelsSharesAndNotes) {
  const std::string svg = bars_svg("What is left", "of a card",
                                   {{"registers", 1, "2 blocks"}, {"shared memory", 0.87, "2"}});
  EXPECT_TRUE(is_well_formed(svg));
  for (const char* part : {">What is left<", ">of a card<", ">registers<", ">shared memory<",
                           ">2 blocks<", ">100 %<", ">87 %<", ">13 %<", ">used<", ">left<"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(svg, HasSubstr("width=\"287.1\""));  // 0.87 of 330
}

TEST(Bars, AreDrawnWithinBounds) {
  const std::string svg = bars_svg("", "", {{"over", 7, ""}, {"under", -1, ""}, {"", NAN, ""}});
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_THAT(svg, HasSubstr("width=\"330.0\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("width=\"-")));
}

TEST(Bars, EscapeAndCutWhatOthersWrote) {
  const std::string svg = bars_svg("a<b & \"c\"", "\x01", {{std::string(500, '<'), 0.5, "</svg>"}});
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_THAT(svg, HasSubstr("a&lt;b &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, HasSubstr(">?<"));
  EXPECT_LT(svg.size(), 4000U);
  // A character of several bytes is not cut in two.
  std::string long_note;
  for (int i = 0; i < 40; ++i) long_note += "\xC3\xA9";
  EXPECT_THAT(bars_svg("", "", {{"", 0, long_note}}), HasSubstr("\xC3\xA9</text>"));
}

TEST(Panels, ShowLinesOnOneScale) {
  Panels panels{"Rates", "of two arms", {"host", "guest"}, 2, "seconds", {}};
  panels.panels.push_back({"ours<", "kept", {{{1, 1, 2}}, {{0, 0.5, -7}}}, {1}});
  panels.panels.push_back({"empty", "", {{{}}, {{NAN}}}, {}});
  const std::string svg = panels_svg(panels);
  EXPECT_TRUE(is_well_formed(svg));
  for (const char* part : {">Rates<", ">of two arms<", ">host<", ">guest<", ">ours&lt;<", ">kept<",
                           ">seconds<"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  // A panel is 78 high and begins at 90: 1 of 2 is in its middle, 2 at its top, below 0 its foot.
  EXPECT_THAT(svg, testing::ContainsRegex("[0-9.]+,129.0 [0-9.]+,129.0 [0-9.]+,90.0 \""));
  EXPECT_THAT(svg, testing::ContainsRegex("[0-9.]+,168.0 [0-9.]+,148.5 [0-9.]+,168.0 \""));
}

}  // namespace
}  // namespace commensal::chart
