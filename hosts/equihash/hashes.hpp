// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <hosts/equihash/params.hpp>
#include <span>

namespace hosts::equihash {

/// BLAKE2b (RFC 7693) of one message with many endings, eight at a time. libsodium hashes one
/// message at a time, and for a header of 140 bytes compresses its first block again for every
/// index: that alone would take more than half of a run. Here the first block is compressed
/// once. hashes_test.cpp holds it to libsodium bit for bit.
/// Thread-safety: const members from any thread.
class Hashes {
 public:
  static constexpr unsigned kLanes = 8;
  static constexpr std::size_t kBytes = 64;  // one hash, whole; the first hash_bytes() count
  using Block = std::array<std::array<std::uint8_t, kBytes>, kLanes>;

  /// `input`: what is hashed before each index. Its length must leave the index in one piece:
  /// fits(input.size()).
  Hashes(const Params& params, std::span<const std::uint8_t> input);

  static bool fits(std::size_t input_bytes) { return input_bytes % 128 <= 124; }

  /// Hashes number `first` to `first` + 7.
  void compute(std::uint32_t first, Block& out) const;

 private:
  std::array<std::uint64_t, 8> state_{};  // after the whole blocks before the last one
  std::array<std::uint64_t, 16> last_{};  // the last block, index zero
  std::uint64_t message_bytes_ = 0;
  std::size_t index_at_ = 0;  // where the index stands in the last block
};

}  // namespace hosts::equihash
