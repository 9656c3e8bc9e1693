// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/check.hpp>
#include <cstddef>
#include <cstdint>

/// Each target takes any bytes and must neither crash, hang, nor ask for more memory than its
/// bounds allow. libFuzzer calls it (preset fuzz), or the driver of ./test (replay.cpp).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace commensal::fuzz {

/// Decisions out of bytes; 0 once they are used up.
class Choices {
 public:
  explicit Choices(core::ByteView bytes) : rest_(bytes) {}

  bool any_left() const { return !rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  std::uint64_t word(int bytes) {
    std::uint64_t made = 0;
    for (int i = 0; i < bytes; ++i) made = made << 8 | byte();
    return made;
  }
  /// In [0, bound).
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(word(bound > 256 ? 2 : 1)) % bound;
  }
  /// True once in `n`; false without bytes.
  bool once_in(std::size_t n) { return any_left() && below(n) == n - 1; }

 private:
  core::ByteView rest_;
};

}  // namespace commensal::fuzz
