// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/beacon/beacon.hpp>

namespace commensal::beacon {

/// A chain of blocks, as far as a beacon needs it. Errors: kUnavailable.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual core::Result<std::uint64_t> head() = 0;
  /// Nothing where there is no such block.
  virtual core::Result<std::optional<core::Digest>> hash_of(std::uint64_t height) = 0;
};

struct BlockTerms {
  std::uint64_t chain_id = 1;
  std::uint64_t first_block = 0;  // round R is drawn by block first_block + R * blocks_per_round
  std::uint64_t blocks_per_round = 1;  // 1 or more
  std::uint64_t confirmations = 12;    // blocks on top before its hash counts
};

/// Round R is H("commensal/beacon-block/v1", id | R as u64 | hash of its block). Who makes that
/// block could throw it away: for tickets worth less than a block. Thread-safety: the source's.
class BlockHashBeacon final : public Beacon {
 public:
  /// `source` must outlive this object.
  BlockHashBeacon(BlockSource& source, const BlockTerms& terms);

  core::Digest id() const override { return id_; }
  core::Result<std::uint64_t> open_round() override;
  /// Further error: kInvalidArgument (round 0, or a block number beyond 64 bits).
  core::Result<std::optional<core::Digest>> value(std::uint64_t round) override;

 private:
  BlockSource& source_;
  BlockTerms terms_;
  core::Digest id_;
};

}  // namespace commensal::beacon
