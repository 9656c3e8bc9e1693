// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <hosts/equihash/heap.hpp>
#include <new>

namespace hosts::equihash {
namespace {

constexpr unsigned kBucketBitsMax = 10;
constexpr std::size_t kPageBytes = std::size_t{2} << 20;  // large pages: rows are written all over

/// A pair of slots of one bucket has a number below rows (rows - 1) / 2; with the bucket's number
/// it must fit into 32 bits.
std::uint32_t rows_that_fit(unsigned bucket_bits) {
  const double pairs = std::ldexp(1.0, 32 - static_cast<int>(bucket_bits));
  return static_cast<std::uint32_t>(std::sqrt(2 * pairs));
}

}  // namespace

Layout::Layout(const Params& p, unsigned spare) : params(p) {
  const unsigned digit = p.digit_bits();
  bucket_bits = std::min(kBucketBitsMax, std::max(digit / 2, digit > 8 ? digit - 8 : 0));
  // Every round has about as many rows as there are strings; five deviations are rarely exceeded.
  const double mean = std::ldexp(1.0, static_cast<int>(digit + 1 - bucket_bits));
  const double rows = (mean + 5 * std::sqrt(mean) + 16) * spare;
  bucket_rows = static_cast<std::uint32_t>(
      std::min({rows, static_cast<double>(rows_that_fit(bucket_bits)), 65534.0}));
  for (unsigned r = 0; r < p.k; ++r) stride[r % 2] = std::max(stride[r % 2], words(r) + r / 2 + 1);
}

unsigned Layout::words(unsigned r) const {
  return (params.n - r * params.digit_bits() - bucket_bits + 31) / 32;
}

Heap::Heap(const Layout& layout, unsigned parity)
    : stride_(layout.stride[parity]), bucket_rows_(layout.bucket_rows), words_(nullptr, Unmap{0}) {
  const std::size_t buckets = std::size_t{1} << layout.bucket_bits;
  // Rows are read by eight bytes: some words more than the last one has.
  bytes_ = (buckets * bucket_rows_ * stride_ + 16) * sizeof(std::uint32_t);
  bytes_ = (bytes_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* const made =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  (void)madvise(made, bytes_, MADV_HUGEPAGE);  // slower without, not wrong
  words_ = {static_cast<std::uint32_t*>(made), Unmap{bytes_}};
  counts_.resize(buckets);
}

void Heap::Unmap::operator()(std::uint32_t* words) const { (void)munmap(words, bytes); }

}  // namespace hosts::equihash
