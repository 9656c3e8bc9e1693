// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <limits>
#include <vector>

/// Sorting by whole numbers, one digit after the other.
namespace commensal::kernels::ref {

/// A whole number for each value, in the order of values: NaNs are equal and above all numbers, -0
/// equals +0.
template <class C>
struct SortKey {
  using Key = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
  static constexpr Key kTop = Key{1} << (8 * sizeof(Key) - 1);

  static Key of(C x) {
    if constexpr (std::is_floating_point_v<C>) {
      if (x != x) return std::numeric_limits<Key>::max();
      const C one = x == 0 ? C{0} : x;
      Key bits;
      std::memcpy(&bits, &one, sizeof bits);
      return (bits & kTop) != 0 ? ~bits : bits | kTop;
    } else if constexpr (std::is_signed_v<C>) {
      return static_cast<Key>(x) ^ kTop;
    } else {
      return static_cast<Key>(x);
    }
  }
};

/// The positions of the keys in ascending order, equal ones in theirs.
template <class Key>
std::vector<std::int64_t> sorted_by_digits(Pulse& pulse, const std::vector<Key>& keys) {
  constexpr std::size_t kDigits = sizeof(Key), kValues = 256;
  const std::size_t count = keys.size();
  std::vector<std::int64_t> order(count), next(count);
  std::array<std::array<std::size_t, kValues>, kDigits> counts{};
  for (std::size_t i = 0; i < count; ++i) {
    pulse(2);
    order[i] = static_cast<std::int64_t>(i);
    for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][keys[i] >> (8 * d) & (kValues - 1)];
  }
  for (std::size_t d = 0; d < kDigits; ++d) {
    auto& places = counts[d];
    if (std::ranges::find(places, count) != places.end()) continue;  // all have the same digit
    std::size_t begin = 0;
    for (auto& place : places) begin += std::exchange(place, begin);
    for (const std::int64_t one : order) {
      pulse(2);
      next[places[keys[static_cast<std::size_t>(one)] >> (8 * d) & (kValues - 1)]++] = one;
    }
    std::swap(order, next);
  }
  return order;
}

}  // namespace commensal::kernels::ref
