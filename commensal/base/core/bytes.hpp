// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::core {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

/// A 256-bit hash, key or salt.
using Digest = std::array<std::uint8_t, 32>;

/// The bytes of a text, without a copy.
inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Lower-case hexadecimal, no prefix.
std::string to_hex(ByteView bytes);

/// Accepts upper and lower case and an optional "0x". Error: kInvalidArgument.
Result<Bytes> from_hex(std::string_view text);
Result<Digest> digest_from_hex(std::string_view text);

/// Compares without revealing by its duration where two secrets differ.
bool equal_in_constant_time(ByteView a, ByteView b);

}  // namespace commensal::core
