// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pacer.hpp>

namespace commensal::fuzz {

inline constexpr std::int64_t kMemoryBytesMax = 1 << 22;

/// Refuses large work: the fuzzer looks for what goes wrong, not for what takes long.
class Bound final : public core::Pacer {
 public:
  bool pace(std::int64_t work_ops) override {
    return work_ops >= 0 && work_ops <= kOpsMax && ++nodes_ <= kNodesMax;
  }

 private:
  static constexpr std::int64_t kOpsMax = 1 << 20;
  static constexpr std::int64_t kNodesMax = 1 << 12;
  std::int64_t nodes_ = 0;
};

}  // namespace commensal::fuzz
