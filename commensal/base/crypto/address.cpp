// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/address.hpp>
#include <commensal/base/crypto/keccak256.hpp>

namespace commensal::crypto {

using core::ErrorCode;

std::string to_text(const Address& address) {
  std::string digits = core::to_hex(address.bytes);
  const std::string sum = core::to_hex(keccak256(core::as_bytes(digits)));
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool upper = sum[i] >= '8';  // in ASCII the letters follow the digits
    if (upper && digits[i] >= 'a') digits[i] = static_cast<char>(digits[i] - 'a' + 'A');
  }
  return "0x" + digits;
}

core::Result<Address> address_from_text(std::string_view text) {
  Address address;
  if (!text.starts_with("0x") || text.size() != 2 + 2 * address.bytes.size()) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "expected an address of '0x' and 40 hexadecimal digits, found '{}'",
                      text.substr(0, 64));
  }
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::from_hex(text));
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  const auto lower = [](char c) { return c >= 'a' && c <= 'f'; };
  const auto upper = [](char c) { return c >= 'A' && c <= 'F'; };
  const std::string_view digits = text.substr(2);
  const bool mixed = std::any_of(digits.begin(), digits.end(), lower) &&
                     std::any_of(digits.begin(), digits.end(), upper);
  if (mixed && text != to_text(address)) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "address '{}' does not match its checksum, expected '{}'", text,
                      to_text(address));
  }
  return address;
}

}  // namespace commensal::crypto
