// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <compare>
#include <string>
#include <string_view>

namespace commensal::crypto {

/// Who signs: the last 20 bytes of Keccak-256 of a public key, as on any EVM chain.
struct Address {
  std::array<std::uint8_t, 20> bytes{};
  auto operator<=>(const Address&) const = default;
};

/// "0x" and 40 hexadecimal digits whose capitals are a checksum (EIP-55).
std::string to_text(const Address& address);

/// Reads "0x" and 40 digits. All-lower and all-upper digits carry no checksum and are accepted;
/// mixed ones must match it. Error: kInvalidArgument.
core::Result<Address> address_from_text(std::string_view text);

}  // namespace commensal::crypto
