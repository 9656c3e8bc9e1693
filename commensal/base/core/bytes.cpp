// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/bytes.hpp>

namespace commensal::core {
namespace {

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::uint8_t b : bytes) {
    text.push_back(kDigits[b >> 4]);
    text.push_back(kDigits[b & 15]);
  }
  return text;
}

Result<Bytes> from_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() % 2 != 0) {
    return fail(ErrorCode::kInvalidArgument, "hexadecimal text has an odd length ({})",
                text.size());
  }
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = nibble(text[i]), low = nibble(text[i + 1]);
    if (high < 0 || low < 0) {
      return fail(ErrorCode::kInvalidArgument, "expected hexadecimal digits, found '{}'",
                  text.substr(i, 2));
    }
    bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  return bytes;
}

Result<Digest> digest_from_hex(std::string_view text) {
  COMMENSAL_ASSIGN(const Bytes bytes, from_hex(text));
  Digest digest;
  if (bytes.size() != digest.size()) {
    return fail(ErrorCode::kInvalidArgument, "expected 32 bytes in hexadecimal, found {}",
                bytes.size());
  }
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

bool equal_in_constant_time(ByteView a, ByteView b) {
  if (a.size() != b.size()) return false;
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

}  // namespace commensal::core
