// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <hosts/equihash/rows.hpp>
#include <hosts/equihash/tree.hpp>

namespace hosts::equihash {

bool has_duplicates(Indices indices) {
  std::ranges::sort(indices);
  return std::ranges::adjacent_find(indices) != indices.end();
}

Indices Tree::indices_of(unsigned r, std::uint32_t bucket, std::uint32_t s, std::uint32_t t) const {
  Indices indices(std::size_t{2} << r);
  put_pair(r, bucket, s, t, indices.data());
  return indices;
}

void Tree::put_pair(unsigned r, std::uint32_t bucket, std::uint32_t s, std::uint32_t t,
                    std::uint32_t* out) const {
  const std::size_t half = std::size_t{1} << r;
  put_row(r, bucket, s, out);
  put_row(r, bucket, t, out + half);
  if (out[0] > out[half]) std::swap_ranges(out, out + half, out + half);
}

void Tree::put_row(unsigned r, std::uint32_t bucket, std::uint32_t slot, std::uint32_t* out) const {
  const Heap& heap = heaps_[r % 2];
  const std::uint32_t reference = heap.reference(heap.row(bucket, slot), r);
  if (r == 0) {
    *out = reference;
    return;
  }
  const unsigned pair_bits = 32 - layout_.bucket_bits;
  const std::uint32_t pair = reference & rows::mask(pair_bits);
  // s is the largest number with s (s - 1) / 2 <= pair; the root may be off by one.
  auto s = static_cast<std::uint32_t>((1 + std::sqrt(1 + 8.0 * pair)) / 2);
  while (rows::pair_number(s, 0) > pair) --s;
  while (rows::pair_number(s + 1, 0) <= pair) ++s;
  put_pair(r - 1, reference >> pair_bits, s, pair - rows::pair_number(s, 0), out);
}

}  // namespace hosts::equihash
