// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/limits.hpp>
#include <cstdint>
#include <vector>

namespace commensal::beacon {

// A reverse hash chain: v_n is a secret seed, v_(i-1) = H("commensal/chain/v1", v_i), v_0 the
// anchor that everybody knows. Showing v_R proves that it was fixed when the anchor was, and shows
// nothing of v_(R+1). Round R of a beacon uses v_R; rounds count from 1.

/// v_(i-steps) from v_i.
core::Digest hash_back(core::Digest value, std::uint64_t steps);

/// A chain of 2^depth rounds in O(depth) memory, for whoever knows its seed: at most depth hashes a
/// round in order, on average half as many. 2^25 rounds, more than a year at one a second, take 25
/// values.
/// Source: Jakobsson, "Fractal Hash Sequence Representation and Traversal" (ISIT 2002), section 4.
/// Thread-safety: one thread.
class HashChain {
 public:
  /// 2^depth hashes. Precondition: depth from 1 to limits::kHashChainDepthMax.
  static HashChain make(const core::Digest& seed, int depth);

  const core::Digest& anchor() const { return anchor_; }
  std::uint64_t rounds() const { return std::uint64_t{1} << pebbles_.size(); }
  /// The last round revealed; 0 before the first.
  std::uint64_t round() const { return round_; }

  /// v_round, which with it gives away all rounds before: call it only when `round` is closed.
  /// Going forward costs the hashes of every round passed; going back, one a round.
  /// Errors: kInvalidArgument (round 0), kResourceExhausted (behind the chain's end, or further
  /// back than limits::kRevealGapMax), kDataLoss (a decoded state that contradicts itself).
  core::Result<core::Digest> reveal(std::uint64_t round);

  /// All of its state, secrets included, to go on from after a restart.
  core::Bytes encode() const;
  /// Error: kInvalidArgument, naming the field.
  static core::Result<HashChain> decode(core::ByteView bytes);

 private:
  /// A value that is kept, and that walks back two rounds at a time to where it is needed next.
  struct Pebble {
    std::uint64_t position = 0;  // kGone: not needed any more
    std::uint64_t destination = 0;
    std::uint64_t level = 0;
    core::Digest value{};
  };

  HashChain() = default;
  core::Result<void> step();
  /// Sends the first pebble, which has been revealed, to where the chain needs it next.
  core::Result<void> resend();
  core::Result<void> validity() const;

  core::Digest anchor_{};
  std::uint64_t round_ = 0;
  core::Digest value_{};         // v_round_
  std::vector<Pebble> pebbles_;  // by destination
};

}  // namespace commensal::beacon
