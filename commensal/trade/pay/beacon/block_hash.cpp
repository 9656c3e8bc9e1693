// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/trade/pay/beacon/block_hash.hpp>
#include <limits>

namespace commensal::beacon {
namespace {

using core::ErrorCode;
using core::fail;

core::Digest id_of(const BlockTerms& terms) {
  protocol::Writer writer;
  for (const std::uint64_t number :
       {terms.chain_id, terms.first_block, terms.blocks_per_round, terms.confirmations}) {
    writer.u64(number);
  }
  return crypto::tagged_hash("commensal/beacon-block-id/v1", writer.written());
}

}  // namespace

BlockHashBeacon::BlockHashBeacon(BlockSource& source, const BlockTerms& terms)
    : source_(source), terms_(terms), id_(id_of(terms)) {
  core::check(terms.blocks_per_round > 0, "a round has a block at least");
}

core::Result<std::uint64_t> BlockHashBeacon::open_round() {
  COMMENSAL_ASSIGN(const std::uint64_t head, source_.head());
  if (head < terms_.first_block) return 1;
  return (head - terms_.first_block) / terms_.blocks_per_round + 1;
}

core::Result<std::optional<core::Digest>> BlockHashBeacon::value(std::uint64_t round) {
  const std::uint64_t room =
      std::numeric_limits<std::uint64_t>::max() - terms_.first_block - terms_.confirmations;
  if (round == 0 || round > room / terms_.blocks_per_round) {
    return fail(ErrorCode::kInvalidArgument, "round {} has no block", round);
  }
  const std::uint64_t height = terms_.first_block + round * terms_.blocks_per_round;
  COMMENSAL_ASSIGN(const std::uint64_t head, source_.head());
  if (head < height + terms_.confirmations) return std::nullopt;
  COMMENSAL_ASSIGN(const auto hash, source_.hash_of(height));
  if (!hash) return std::nullopt;
  protocol::Writer writer;
  writer.u64(round);
  return crypto::tagged_hash("commensal/beacon-block/v1", id_, writer.written(), *hash);
}

}  // namespace commensal::beacon
