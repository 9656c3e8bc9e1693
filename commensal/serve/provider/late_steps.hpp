// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <cstdint>

namespace commensal::provider {

/// Steps that were computed for nothing: their gateway signed so late that their round was closed,
/// as after a crash, or as one who wants the answers without the tickets. Counted in the store, by
/// gateway; limits::kStepsPerLate steps with tickets make up for one.
/// Thread-safety: one thread, the store's.
class LateSteps {
 public:
  /// `store` outlives this object.
  explicit LateSteps(core::Store& store) : store_(store) {}

  struct Count {
    static constexpr std::string_view kRecord = "late steps";

    std::uint64_t late = 0;     // not made up for
    std::uint64_t in_time = 0;  // since, towards the next one

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("late", self.late);
      archive.field("in_time", self.in_time);
    }
  };
  /// Errors: the store's; kDataLoss.
  core::Result<Count> of(const crypto::Address& gateway) const;
  /// One more. Error besides: kFailedPrecondition, nothing written, where there are `most` already.
  core::Result<void> add(const crypto::Address& gateway, std::uint64_t most);
  /// So many steps with tickets that count. Errors: as of().
  core::Result<void> in_time(const crypto::Address& gateway, std::uint64_t steps);

 private:
  core::Result<void> put(const crypto::Address& gateway, const Count& count);

  core::Store& store_;
};

}  // namespace commensal::provider
