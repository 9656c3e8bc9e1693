// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hosts/equihash/heap.hpp>

namespace hosts::equihash {

bool has_duplicates(Indices indices);

/// Finds the indices again that a row was made of, by the references in the heaps. Valid as long
/// as no later run writes to them.
class Tree {
 public:
  Tree(const Layout& layout, const Heap (&heaps)[2]) : layout_(layout), heaps_(heaps) {}

  /// Of two rows of one bucket in round `r` together: 2^(r+1), the halves of each subtree in the
  /// order that verify() asks for.
  Indices indices_of(unsigned r, std::uint32_t bucket, std::uint32_t s, std::uint32_t t) const;
  bool share_an_index(unsigned r, std::uint32_t bucket, std::uint32_t s, std::uint32_t t) const {
    return has_duplicates(indices_of(r, bucket, s, t));
  }

 private:
  void put_pair(unsigned r, std::uint32_t bucket, std::uint32_t s, std::uint32_t t,
                std::uint32_t* out) const;
  void put_row(unsigned r, std::uint32_t bucket, std::uint32_t slot, std::uint32_t* out) const;

  const Layout& layout_;
  const Heap (&heaps_)[2];
};

}  // namespace hosts::equihash
