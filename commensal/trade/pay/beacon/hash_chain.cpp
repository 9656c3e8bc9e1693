// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <limits>

namespace commensal::beacon {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;

constexpr std::uint64_t kGone = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Digest hash_back(Digest value, std::uint64_t steps) {
  for (; steps > 0; --steps) value = crypto::tagged_hash("commensal/chain/v1", value);
  return value;
}

HashChain HashChain::make(const Digest& seed, int depth) {
  core::check(depth >= 1 && depth <= limits::kHashChainDepthMax,
              "a hash chain's depth out of range");
  HashChain chain;
  Digest value = seed;
  for (int level = depth; level >= 1; --level) {
    const std::uint64_t position = std::uint64_t{1} << level;
    chain.pebbles_.insert(chain.pebbles_.begin(),
                          Pebble{position, position, static_cast<std::uint64_t>(level), value});
    value = hash_back(value, position / 2);
  }
  chain.anchor_ = chain.value_ = hash_back(value, 1);
  return chain;
}

core::Result<Digest> HashChain::reveal(std::uint64_t round) {
  if (round == 0) return fail(ErrorCode::kInvalidArgument, "round 0, expected 1 or more");
  if (round > rounds()) {
    return fail(ErrorCode::kResourceExhausted, "round {} of a hash chain that ends with round {}",
                round, rounds());
  }
  while (round_ < round) COMMENSAL_TRY(step());
  if (round_ - round > limits::kRevealGapMax) {
    return fail(ErrorCode::kResourceExhausted, "round {} is {} rounds ago, at most {} are accepted",
                round, round_ - round, limits::kRevealGapMax);
  }
  return hash_back(value_, round_ - round);
}

core::Result<void> HashChain::step() {
  for (Pebble& pebble : pebbles_) {
    if (pebble.position == pebble.destination) continue;
    pebble.position -= 2;
    pebble.value = hash_back(pebble.value, 2);
  }
  ++round_;
  // Even values are pebbles; an odd one is a hash away from the next even one.
  value_ = round_ % 2 == 0 ? pebbles_[0].value : hash_back(pebbles_[0].value, 1);
  return round_ % 2 == 0 ? resend() : core::Result<void>{};
}

core::Result<void> HashChain::resend() {
  Pebble& first = pebbles_[0];
  first.position += std::uint64_t{3} << first.level;
  first.destination += std::uint64_t{2} << first.level;
  if (first.destination > rounds()) {
    first.position = first.destination = kGone;
  } else {
    const auto there = std::find_if(pebbles_.begin() + 1, pebbles_.end(), [&](const Pebble& other) {
      return other.position == first.position;
    });
    if (there == pebbles_.end()) {
      return fail(ErrorCode::kDataLoss, "the hash chain's state has no value of round {}",
                  first.position);
    }
    first.value = there->value;
  }
  std::sort(pebbles_.begin(), pebbles_.end(),
            [](const Pebble& a, const Pebble& b) { return a.destination < b.destination; });
  return {};
}

core::Bytes HashChain::encode() const {
  protocol::Writer writer;
  protocol::write(writer, anchor_);
  protocol::write(writer, round_);
  protocol::write(writer, value_);
  writer.count(pebbles_.size());
  for (const Pebble& pebble : pebbles_) {
    for (const std::uint64_t number : {pebble.position, pebble.destination, pebble.level}) {
      protocol::write(writer, number);
    }
    protocol::write(writer, pebble.value);
  }
  return std::move(writer).take();
}

core::Result<HashChain> HashChain::decode(core::ByteView bytes) {
  protocol::Reader reader(bytes, "hash chain");
  HashChain chain;
  reader.field("anchor", chain.anchor_);
  reader.field("round", chain.round_);
  reader.field("value", chain.value_);
  for (std::size_t left = reader.count(limits::kHashChainDepthMax); left > 0; --left) {
    Pebble& pebble = chain.pebbles_.emplace_back();
    reader.field("position", pebble.position);
    reader.field("destination", pebble.destination);
    reader.field("level", pebble.level);
    reader.field("value", pebble.value);
  }
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_TRY(chain.validity());
  return chain;
}

core::Result<void> HashChain::validity() const {
  const auto sound = [&](const Pebble& pebble) {
    if (pebble.level < 1 || pebble.level > pebbles_.size()) return false;
    if (pebble.position == kGone) return pebble.destination == kGone;
    return pebble.position <= rounds() && pebble.destination > round_ &&
           pebble.destination <= pebble.position && pebble.destination % 2 == 0 &&
           pebble.position % 2 == 0;
  };
  const bool over = round_ == rounds();
  const bool next = !pebbles_.empty() && (over || pebbles_[0].destination <= round_ + 2);
  const bool ordered = std::is_sorted(
      pebbles_.begin(), pebbles_.end(),
      [](const Pebble& a, const Pebble& b) { return a.destination < b.destination; });
  if (next && ordered && round_ <= rounds() &&
      std::all_of(pebbles_.begin(), pebbles_.end(), sound)) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument, "hash chain: its pebbles do not fit round {}", round_);
}

}  // namespace commensal::beacon
