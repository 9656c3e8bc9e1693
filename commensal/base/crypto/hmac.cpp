// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/crypto/hmac.hpp>

namespace commensal::crypto {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::uint8_t kInner = 0x36, kOuter = 0x5c;

}  // namespace

Digest hmac_sha256(ByteView key, ByteView text) {
  std::array<std::uint8_t, kBlockBytes> block{};
  if (key.size() > block.size()) {
    std::ranges::copy(sha256(key), block.begin());
  } else {
    std::ranges::copy(key, block.begin());
  }
  for (std::uint8_t& byte : block) byte ^= kInner;
  const Digest inner = Sha256().update(block).update(text).finish();
  for (std::uint8_t& byte : block) byte ^= kInner ^ kOuter;
  return Sha256().update(block).update(inner).finish();
}

}  // namespace commensal::crypto
