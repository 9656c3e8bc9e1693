// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/beacon/tracker.hpp>

namespace commensal::beacon {

/// A reverse hash chain of our own that survives a kill: its state, secrets included, stands in a
/// store under one key. What it reveals is kept first, so that after a restart it is never behind
/// what others have seen. Its rounds go on counting where another was left or a stranger's stand,
/// and so do those of the chain that takes its place. Thread-safety: one thread, the store's.
class StoredHashChain {
 public:
  /// Where it stands, and what one is made of.
  struct Place {
    core::Store* store = nullptr;  // must outlive the chain
    std::string space;
    core::Bytes key;
    const crypto::SecretKey* owner = nullptr;  // likewise
    core::Rng* rng = nullptr;                  // likewise
    int depth = 1;  // 2^depth rounds; from 1 to limits::kHashChainDepthMax
  };

  /// Reads the chain; makes and keeps one that follows round `first` where there is none. Errors:
  /// the store's; kInvalidArgument for a state that does not decode.
  static core::Result<StoredHashChain> open(const Place& place, std::uint64_t first = 0);

  /// Signed by its owner.
  const protocol::HashChainHead& head() const { return head_; }
  /// The last round revealed, and its value; before that the head's first and its anchor.
  std::uint64_t round() const { return base_ + chain_.round(); }
  const core::Digest& value() const { return value_; }
  /// How many it has left.
  std::uint64_t rounds_left() const { return base_ + chain_.rounds() - round(); }
  /// What others know of it.
  HashChainTracker tracker() const { return {head_, round(), value_}; }

  /// HashChain::reveal, durable when it returns (or with the hold of a JointStore). After an
  /// error the round is the one before. Further errors: the store's.
  core::Result<core::Digest> reveal(std::uint64_t round);
  /// A new head, anchored at `round`, which is no secret from then on. Durable as above.
  /// Precondition: not behind round(). Errors: as above.
  core::Result<void> anchor_at(std::uint64_t round);
  /// Another chain in its place, which follows `round`. Durable, errors as above.
  core::Result<void> renew(std::uint64_t round);

 private:
  StoredHashChain(const Place& place, HashChain chain) : place_(place), chain_(std::move(chain)) {}
  core::Result<void> read(core::ByteView bytes);
  core::Result<void> keep(const HashChain& chain, const protocol::HashChainHead& head,
                          std::uint64_t base);
  protocol::HashChainHead head_at(std::uint64_t round, const core::Digest& value,
                                  std::uint64_t rounds) const;

  Place place_;
  HashChain chain_;
  std::uint64_t base_ = 0;  // the round before the chain's first
  protocol::HashChainHead head_;
  core::Digest value_{};
};

}  // namespace commensal::beacon
