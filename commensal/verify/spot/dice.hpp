// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/sha256.hpp>

namespace commensal::spot {

/// Numbers that follow from a seed: the first eight bytes, big-endian, of
/// H(tag, seed | i as u64) for i = 0, 1, ... Modulo n they are uniform but for n / 2^64.
class Dice {
 public:
  Dice(std::string_view tag, const core::Digest& seed) : tag_(tag), seed_(seed) {}

  std::uint64_t next() {
    std::array<std::uint8_t, 8> counter{};
    for (int b = 0; b < 8; ++b) counter[static_cast<std::size_t>(7 - b)] = byte_of(drawn_, b);
    ++drawn_;
    const core::Digest hash = crypto::tagged_hash(tag_, seed_, counter);
    std::uint64_t made = 0;
    for (std::size_t b = 0; b < 8; ++b) made = made << 8 | hash[b];
    return made;
  }
  /// In [0, bound). Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  static std::uint8_t byte_of(std::uint64_t value, int b) {
    return static_cast<std::uint8_t>(value >> 8 * b);
  }

  std::string_view tag_;
  core::Digest seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace commensal::spot
