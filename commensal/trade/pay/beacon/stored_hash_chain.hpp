// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/beacon/tracker.hpp>

namespace commensal::beacon {

/// A reverse hash chain of our own that survives a kill: its state, secrets included, stands in a
/// store under one key. What it reveals is kept first, so that after a restart it is never behind
/// what others have seen. Thread-safety: one thread, the store's.
class StoredHashChain {
 public:
  /// Reads the chain; makes and keeps one of 2^depth rounds where there is none. `store` must
  /// outlive this object. Errors: the store's; kInvalidArgument for a state that does not decode.
  /// Precondition: depth from 1 to limits::kHashChainDepthMax.
  static core::Result<StoredHashChain> open(core::Store& store, std::string space, core::Bytes key,
                                            const crypto::SecretKey& owner, core::Rng& rng,
                                            int depth);

  /// Signed by its owner.
  const protocol::HashChainHead& head() const { return head_; }
  /// The last round revealed, and its value; 0 and the anchor before the first.
  std::uint64_t round() const { return chain_.round(); }
  const core::Digest& value() const { return value_; }
  /// What others know of it.
  HashChainTracker tracker() const { return {head_, round(), value_}; }

  /// HashChain::reveal, durable when it returns (or with the hold of a JointStore). After an
  /// error the round is the one before. Further errors: the store's.
  core::Result<core::Digest> reveal(std::uint64_t round);

 private:
  StoredHashChain(core::Store& store, std::string space, core::Bytes key, HashChain chain)
      : store_(&store), space_(std::move(space)), key_(std::move(key)), chain_(std::move(chain)) {}
  core::Result<void> keep(const HashChain& chain);

  core::Store* store_;
  std::string space_;
  core::Bytes key_;
  HashChain chain_;
  protocol::HashChainHead head_;
  core::Digest value_{};
};

}  // namespace commensal::beacon
