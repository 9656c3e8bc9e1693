// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/beacon.hpp>

namespace commensal::beacon {

/// What a stranger knows of somebody's reverse hash chain: its head, and the latest value revealed.
/// A reveal costs as many hashes as rounds lie between it and the latest one, at most
/// limits::kRevealGapMax: whoever was away longer sends values in between.
/// Thread-safety: one thread.
class HashChainTracker {
 public:
  /// Preconditions: the head is valid and its signature was verified; `value` is v_round of it.
  explicit HashChainTracker(const protocol::HashChainHead& head)
      : HashChainTracker(head, head.first, head.anchor) {}
  HashChainTracker(const protocol::HashChainHead& head, std::uint64_t round,
                   const core::Digest& value)
      : head_(head), round_(round), value_(value) {}

  const protocol::HashChainHead& head() const { return head_; }
  /// The latest round known; the head's `first` before.
  std::uint64_t round() const { return round_; }
  const core::Digest& value() const { return value_; }

  /// Whether `value` is v_round, of a later or an earlier round than the latest.
  /// Errors: kInvalidArgument (not a round of this chain, or it does not hash to it),
  /// kResourceExhausted (too far away). The message names round and owner.
  core::Result<void> check(std::uint64_t round, const core::Digest& value) const;
  /// check(), then remembers it if it is the latest.
  core::Result<void> accept(std::uint64_t round, const core::Digest& value);
  /// v_round. Errors: kFailedPrecondition (not revealed yet), kResourceExhausted (too far back).
  core::Result<core::Digest> value_of(std::uint64_t round) const;

 private:
  protocol::HashChainHead head_;
  std::uint64_t round_;
  core::Digest value_;
};

}  // namespace commensal::beacon
