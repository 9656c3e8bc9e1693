// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/unicode.hpp>

namespace commensal::kernels::ref {

std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint32_t first = byte(at++);
  if (first < 0x80) return first;
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < more) return kRawByte + first;
  std::uint32_t value = first & (0x3fu >> more);
  for (std::size_t i = 0; i < more; ++i) {
    const std::uint32_t next = byte(at + i);
    if ((next & 0xc0) != 0x80) return kRawByte + first;
    value = value << 6 | (next & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value < 0xe000;
  if (value < kLeast[more] || value >= kRawByte || is_surrogate) return kRawByte + first;
  at += more;
  return value;
}

void append_character(std::uint32_t character, std::string& text) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto tail = [&](int shift) { put(0x80 | (character >> shift & 0x3f)); };
  if (character >= kRawByte) return put(character - kRawByte);
  if (character < 0x80) return put(character);
  if (character < 0x800) {
    put(0xc0 | character >> 6);
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    tail(6);
  } else {
    put(0xf0 | character >> 18);
    tail(12);
    tail(6);
  }
  tail(0);
}

bool is_white_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace commensal::kernels::ref
