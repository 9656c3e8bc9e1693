// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_graphs.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <cstdint>

namespace commensal::graph::onnx {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Length of the UTF-8 sequence that `text` begins with; 0 if it is none (RFC 3629).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string one_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "no reason given";
  std::string line(text.substr(begin, text.find('\n', begin) - begin));
  line.resize(std::min(line.size(), limits::kShownLineBytesMax));
  line.resize(line.find_last_not_of(" \t\r.") + 1);
  for (char& c : line) {
    if (is_control(c) || static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return line;
}

bool is_name(std::string_view text) {
  if (text.size() > limits::kValueNameBytesMax) return false;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0 || is_control(text.front())) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace commensal::graph::onnx
