// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <initializer_list>
#include <string_view>

namespace commensal::risk {

/// More money than a ledger's amounts can hold; keeps products of doubles finite.
inline constexpr double kUnitsMax = 3.5e38;

/// A number from outside, and where it may lie, ends included.
struct Ranged {
  std::string_view name;
  double value = 0;
  double min = 0;
  double max = 0;
};

/// Error: kInvalidArgument for the first that is out of its range or no number.
inline core::Result<void> first_out_of_range(std::initializer_list<Ranged> values) {
  for (const Ranged& one : values) {
    if (one.value >= one.min && one.value <= one.max) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "{}: {}, expected {} to {}", one.name,
                      one.value, one.min, one.max);
  }
  return {};
}

}  // namespace commensal::risk
