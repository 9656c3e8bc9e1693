// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/base64.hpp>
#include <cstdint>
#include <utility>

namespace commensal::core {
namespace {

constexpr std::string_view kDigits64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string made;
  made.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = (bits << 8) | (i < three.size() ? static_cast<std::uint8_t>(three[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      made.push_back(i > three.size() ? '=' : kDigits64[(bits >> (18 - 6 * i)) & 63]);
  }
  return made;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string made;
  made.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    made.push_back(static_cast<char>((bits >> count) & 0xff));
  }
  const bool is_whole = count < 6 && (bits & ((1U << count) - 1)) == 0;
  return is_whole ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace commensal::core
