// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/beacon/stored_hash_chain.hpp>

namespace commensal::beacon {

using core::Result;

Result<StoredHashChain> StoredHashChain::open(const Place& place, std::uint64_t first) {
  COMMENSAL_ASSIGN(const auto kept, place.store->get(place.space, place.key));
  StoredHashChain opened(place, HashChain::make(place.rng->next_digest(), kept ? 1 : place.depth));
  if (kept) {
    COMMENSAL_TRY(opened.read(*kept));
    return opened;
  }
  const auto head = opened.head_at(first, opened.chain_.anchor(), first + opened.chain_.rounds());
  COMMENSAL_TRY(opened.keep(opened.chain_, head, first));
  opened.value_ = opened.chain_.anchor();
  return opened;
}

Result<void> StoredHashChain::read(core::ByteView bytes) {
  protocol::Reader reader(bytes, "a hash chain of our own");
  base_ = reader.u64();
  head_.first = reader.u64();
  protocol::read(reader, head_.anchor);
  const core::ByteView state = reader.bytes();
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_ASSIGN(chain_, HashChain::decode(state));
  head_ = head_at(head_.first, head_.anchor, base_ + chain_.rounds());
  value_ = chain_.anchor();
  if (chain_.round() == 0) return {};
  COMMENSAL_ASSIGN(value_, chain_.reveal(chain_.round()));
  return {};
}

protocol::HashChainHead StoredHashChain::head_at(std::uint64_t round, const core::Digest& value,
                                                 std::uint64_t rounds) const {
  protocol::HashChainHead head;
  head.anchor = value;
  head.first = round;
  head.rounds = rounds;
  return protocol::sign_hash_chain_head(*place_.owner, head);
}

Result<void> StoredHashChain::keep(const HashChain& chain, const protocol::HashChainHead& head,
                                   std::uint64_t base) {
  protocol::Writer writer;
  writer.u64(base);
  writer.u64(head.first);
  protocol::write(writer, head.anchor);
  writer.bytes(chain.encode());
  COMMENSAL_TRY(place_.store->apply({{place_.space, place_.key, std::move(writer).take()}}));
  chain_ = chain;
  head_ = head;
  base_ = base;
  return {};
}

Result<core::Digest> StoredHashChain::reveal(std::uint64_t round) {
  HashChain next = chain_;
  COMMENSAL_ASSIGN(const core::Digest value, next.reveal(round - std::min(round, base_)));
  if (next.round() == chain_.round()) return value;
  COMMENSAL_TRY(keep(next, head_, base_));
  value_ = value;
  return value;
}

Result<void> StoredHashChain::anchor_at(std::uint64_t round) {
  if (round > this->round()) COMMENSAL_TRY(reveal(round));
  return keep(chain_, head_at(round, value_, base_ + chain_.rounds()), base_);
}

Result<void> StoredHashChain::renew(std::uint64_t round) {
  const HashChain next = HashChain::make(place_.rng->next_digest(), place_.depth);
  COMMENSAL_TRY(keep(next, head_at(round, next.anchor(), round + next.rounds()), round));
  value_ = next.anchor();
  return {};
}

}  // namespace commensal::beacon
