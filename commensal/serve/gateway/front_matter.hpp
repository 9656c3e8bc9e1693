// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commensal::gateway {

/// YAML as a tree of texts: what a plain scalar means is its reader's affair. A value.
struct YamlValue {
  enum class Kind : std::uint8_t { kNothing, kText, kList, kMap };

  Kind kind = Kind::kNothing;
  std::string text;
  std::vector<YamlValue> items;
  std::vector<std::pair<std::string, YamlValue>> members;
};

/// A Markdown file in its two parts.
struct FrontMatter {
  YamlValue head;         // a map, or nothing where there is no front matter
  std::string_view text;  // of `source`: what follows it
};

/// Reads what strangers send, in time proportional to its length: anchors and aliases, lines of
/// more than limits::kCardLineBytesMax, more than kCardDepthMax lists in lists and kCardValuesMax
/// values are refused. Front matter stands between two lines "---", the first of which begins the
/// file. Pure. Error: kInvalidArgument, naming the line.
core::Result<FrontMatter> split_front_matter(std::string_view source);

}  // namespace commensal::gateway
