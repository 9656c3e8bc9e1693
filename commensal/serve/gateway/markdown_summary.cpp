// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/markdown_summary.hpp>

namespace commensal::gateway {
namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t from = line.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(" \t\r") - from + 1);
}

/// Of what is no paragraph: heading, list, quotation, picture, badge, table, code, HTML, rule.
bool is_marked(std::string_view line) {
  constexpr std::string_view kStarts[] = {"#", "- ", "* ",  "+ ",  ">",   "![",  "[!",
                                          "|", "<",  "```", "~~~", "---", "===", "***"};
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return line.starts_with(start); });
}

/// The first paragraph's lines, joined.
std::string first_paragraph(std::string_view rest) {
  std::string paragraph;
  bool is_code = false;
  while (!rest.empty() && paragraph.size() <= 4 * limits::kCardSummaryBytesMax) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("```") || line.starts_with("~~~")) is_code = !is_code;
    if (is_code || line.empty() || is_marked(line)) {
      if (!paragraph.empty()) break;
      continue;
    }
    if (!paragraph.empty()) paragraph += ' ';
    paragraph += line.substr(0, 4 * limits::kCardSummaryBytesMax);
  }
  return paragraph;
}

/// Without marks of emphasis and code, and of links their texts alone.
std::string plain(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '*' || c == '`' || c == '[') continue;
    if (c == ']' && i + 1 < text.size() && text[i + 1] == '(') {
      const std::size_t end = text.find(')', i);
      if (end != std::string_view::npos) i = end;
      continue;
    }
    if (c != ']') made += c;
  }
  return made;
}

}  // namespace

std::string summary_of(std::string_view markdown) {
  std::string text = plain(first_paragraph(markdown));
  for (const std::string_view end : {". ", "! ", "? "})
    text.resize(std::min(text.size(), std::min(text.find(end), text.size() - 1) + 1));
  if (text.size() > limits::kCardSummaryBytesMax) {
    std::size_t size = limits::kCardSummaryBytesMax - 3;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    text.resize(size);
    text += "...";
  }
  return protocol::one_line(text);
}

}  // namespace commensal::gateway
