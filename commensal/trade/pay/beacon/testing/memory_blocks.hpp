// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/beacon/block_hash.hpp>
#include <map>

namespace commensal::beacon::testing {

/// Blocks that are put there. Not thread-safe.
class MemoryBlocks final : public BlockSource {
 public:
  void put(std::uint64_t height, const core::Digest& hash) { blocks_[height] = hash; }
  core::Result<std::uint64_t> head() override {
    if (blocks_.empty()) {
      return core::fail(core::ErrorCode::kUnavailable, "there is no block yet");
    }
    return blocks_.rbegin()->first;
  }
  core::Result<std::optional<core::Digest>> hash_of(std::uint64_t height) override {
    const auto found = blocks_.find(height);
    if (found == blocks_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::map<std::uint64_t, core::Digest> blocks_;
};

}  // namespace commensal::beacon::testing
