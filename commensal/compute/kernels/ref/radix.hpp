// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <limits>
#include <span>
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

/// The positions of few keys in ascending order, equal ones in theirs.
template <class Key>
void insert_in_order(std::span<const Key> keys, std::span<std::int64_t> order) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::size_t to = i;
    for (; to > 0 && keys[i] < keys[static_cast<std::size_t>(order[to - 1])]; --to) {
      order[to] = order[to - 1];
    }
    order[to] = static_cast<std::int64_t>(i);
  }
}

/// Of any number of keys; `order` has room for as many.
template <class Key>
void sort_by_digits(Pulse& pulse, std::span<const Key> keys, std::span<std::int64_t> order) {
  constexpr std::size_t kDigits = sizeof(Key), kValues = 256, kFew = 32;
  const std::size_t count = keys.size();
  if (count <= kFew) return insert_in_order(keys, order);
  std::vector<std::int64_t> more(count);
  std::span<std::int64_t> from = order, to = more;
  std::array<std::array<std::size_t, kValues>, kDigits> counts{};
  for (std::size_t i = 0; i < count; ++i) {
    pulse(2);
    from[i] = static_cast<std::int64_t>(i);
    for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][keys[i] >> (8 * d) & (kValues - 1)];
  }
  for (std::size_t d = 0; d < kDigits; ++d) {
    auto& places = counts[d];
    if (std::ranges::find(places, count) != places.end()) continue;  // all have the same digit
    std::size_t begin = 0;
    for (auto& place : places) begin += std::exchange(place, begin);
    for (const std::int64_t one : from) {
      pulse(2);
      to[places[keys[static_cast<std::size_t>(one)] >> (8 * d) & (kValues - 1)]++] = one;
    }
    std::swap(from, to);
  }
  if (from.data() == order.data()) return;
  std::ranges::copy(from, order.begin());
}

}  // namespace commensal::kernels::ref
