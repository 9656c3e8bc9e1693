// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/rng.hpp>
#include <cstdint>

namespace commensal::kernels::ref {

/// The random words of one key: Philox4x32-10, counted.
class Words {
 public:
  Words() = default;
  explicit Words(std::array<std::uint32_t, 2> key) : key_(key) {}

  /// (word n of the stream >> 8) * 2^-24, in [0, 1).
  float unit(std::uint64_t n, std::uint64_t stream = 0) const {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto block =
        core::philox4x32({low(n / 4), low(n >> 34), low(stream), low(stream >> 32)}, key_);
    return static_cast<float>(block[n % 4] >> 8) * 0x1p-24f;
  }

 private:
  std::array<std::uint32_t, 2> key_{};
};

}  // namespace commensal::kernels::ref
