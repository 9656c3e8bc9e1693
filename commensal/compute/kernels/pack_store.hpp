// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace commensal::kernels {

/// Where a row's `pack` finds the large part of what it made of the same constants before, be that
/// in another process. One object is one call of `pack`, on one instruction set.
class PackStore {
 public:
  virtual ~PackStore() = default;
  /// Exactly so many floats, aligned to a cache line; null where they were never kept.
  virtual std::shared_ptr<const float> find(std::int64_t floats) = 0;
  /// To be found by others, after find() had nothing. Never an error: what cannot be kept is made
  /// again.
  virtual void keep(std::span<const float> made) = 0;
};

/// Version of what `pack` makes of constants, for all rows that use a PackStore; part of the name
/// under which packed constants are kept. It changes whenever the layout of any of them does
/// (pack_folder_test.cpp notices).
inline constexpr int kPackVersion = 1;

}  // namespace commensal::kernels
