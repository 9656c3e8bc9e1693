// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <hosts/equihash/params.hpp>
#include <memory>
#include <vector>

namespace hosts::equihash {

/// Where the rows of each round stand. A string is a number of n bits, least significant word
/// first, so that a digit is dropped by forgetting words at the end, without a shift.
struct Layout {
  Layout(const Params& params, unsigned spare);

  /// Words of 32 bits of what is left in round `r`: from digit r without its bucket's bits.
  unsigned words(unsigned r) const;
  /// Where digit r begins, counted from the least significant bit.
  unsigned digit_at(unsigned r) const { return params.n - (r + 1) * params.digit_bits(); }

  Params params;
  unsigned bucket_bits = 0;       // the first bits of a digit
  std::uint32_t bucket_rows = 0;  // at most
  unsigned stride[2] = {0, 0};    // words of a row, in rounds of even and of odd number
};

/// The rows of all buckets of one round, of `stride` words each. Row: what is left of the string,
/// and from the other end one reference for each round that has used this heap.
class Heap {
 public:
  Heap(const Layout& layout, unsigned parity);

  std::uint32_t* row(std::uint32_t bucket, std::uint32_t slot) {
    return words_.get() + (std::size_t{bucket} * bucket_rows_ + slot) * stride_;
  }
  const std::uint32_t* row(std::uint32_t bucket, std::uint32_t slot) const {
    return words_.get() + (std::size_t{bucket} * bucket_rows_ + slot) * stride_;
  }
  /// The reference that round `r` left in a row of this heap.
  std::uint32_t& reference(std::uint32_t* row, unsigned r) const {
    return row[stride_ - 1 - r / 2];
  }
  std::uint32_t reference(const std::uint32_t* row, unsigned r) const {
    return row[stride_ - 1 - r / 2];
  }
  std::vector<std::uint32_t>& counts() { return counts_; }  // rows of each bucket
  std::size_t bytes() const { return bytes_; }
  unsigned stride() const { return stride_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::uint32_t* words) const;
  };
  unsigned stride_;
  std::uint32_t bucket_rows_;
  std::size_t bytes_;
  std::unique_ptr<std::uint32_t[], Unmap> words_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace hosts::equihash
