// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/terminal.hpp>
#include <commensal/base/protocol/encoding.hpp>

namespace commensal::apps {
namespace {

/// How many bytes the character at the front has; 0: it is none.
std::size_t character_bytes(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(4, text.size()); ++size) {
    if (protocol::is_utf8(text.substr(0, size))) return size;
  }
  return 0;
}

/// C0, delete, C1; and what makes a terminal show letters in another order than they have.
bool is_harmless(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first >= 0x20 && first != 0x7f;
  const auto second = static_cast<unsigned char>(character[1]);
  if (first == 0xc2) return second >= 0xa0;
  if (first != 0xe2 || character.size() != 3) return true;
  const auto third = static_cast<unsigned char>(character[2]);
  const bool is_mark = second == 0x80 && (third == 0x8e || third == 0x8f);     // U+200E, F
  const bool is_separator = second == 0x80 && third >= 0xa8 && third <= 0xae;  // U+2028 - E
  const bool is_isolate = second == 0x81 && third >= 0xa6 && third <= 0xa9;    // U+2066 - 9
  return !is_mark && !is_separator && !is_isolate;
}

}  // namespace

std::string for_terminal(std::string_view text, bool keeps_lines) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    text.remove_prefix(character.size());
    const bool is_kept = keeps_lines && (character == "\n" || character == "\t");
    if (is_kept || (size > 0 && is_harmless(character))) {
      shown += character;
      continue;
    }
    for (const char c : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown;
}

}  // namespace commensal::apps
