// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <memory>
#include <span>

namespace commensal::crypto {

/// The keystream of ChaCha20, piece by piece. `start` are words 12 to 15 of the first block's
/// state: counter (low, high) and nonce (two words). The counter is one of 64 bits; below 2^32
/// blocks that is RFC 8439's with a nonce whose first word is 0.
/// Sources: Bernstein, "ChaCha, a variant of Salsa20" (2008); RFC 8439.
/// Thread-safety: one object, one thread.
class ChaCha20 {
 public:
  ChaCha20(const core::Digest& key, const std::array<std::uint32_t, 4>& start);
  ChaCha20(ChaCha20&&) noexcept;
  ChaCha20& operator=(ChaCha20&&) noexcept;
  ~ChaCha20();

  /// The next bytes of the stream.
  void fill(std::span<std::uint8_t> out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace commensal::crypto
