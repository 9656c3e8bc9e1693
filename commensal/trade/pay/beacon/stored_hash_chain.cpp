// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/beacon/stored_hash_chain.hpp>

namespace commensal::beacon {

using core::Result;

Result<StoredHashChain> StoredHashChain::open(core::Store& store, std::string space,
                                              core::Bytes key, const crypto::SecretKey& owner,
                                              core::Rng& rng, int depth) {
  COMMENSAL_ASSIGN(const auto kept, store.get(space, key));
  COMMENSAL_ASSIGN(HashChain chain,
                   kept ? HashChain::decode(*kept) : HashChain::make(rng.next_digest(), depth));
  StoredHashChain opened(store, std::move(space), std::move(key), std::move(chain));
  if (!kept) COMMENSAL_TRY(opened.keep(opened.chain_));
  opened.head_.anchor = opened.chain_.anchor();
  opened.head_.rounds = opened.chain_.rounds();
  opened.head_ = protocol::sign_hash_chain_head(owner, opened.head_);
  opened.value_ = opened.chain_.anchor();
  if (opened.round() > 0) {
    COMMENSAL_ASSIGN(opened.value_, opened.chain_.reveal(opened.round()));
  }
  return opened;
}

Result<void> StoredHashChain::keep(const HashChain& chain) {
  return store_->apply({{space_, key_, chain.encode()}});
}

Result<core::Digest> StoredHashChain::reveal(std::uint64_t round) {
  HashChain next = chain_;
  COMMENSAL_ASSIGN(const core::Digest value, next.reveal(round));
  if (next.round() == chain_.round()) return value;
  COMMENSAL_TRY(keep(next));
  chain_ = std::move(next);
  value_ = value;
  return value;
}

}  // namespace commensal::beacon
