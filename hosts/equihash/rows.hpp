// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

/// Words of a row, read and combined: the inner loop of the solver.
namespace hosts::equihash::rows {

inline std::uint32_t load32(const void* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline std::uint64_t load64(const void* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline std::uint32_t mask(unsigned bits) {
  return bits >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bits) - 1;
}

/// At most 32 bits that begin at bit `at` of a row; eight bytes from there are read.
class Bits {
 public:
  Bits(unsigned at, unsigned bits) : word_(at / 32), shift_(at % 32), mask_(mask(bits)) {}
  std::uint32_t of(const std::uint32_t* row) const {
    return static_cast<std::uint32_t>(load64(row + word_) >> shift_) & mask_;
  }
  std::uint32_t of_xor(const std::uint32_t* a, const std::uint32_t* b) const {
    return static_cast<std::uint32_t>((load64(a + word_) ^ load64(b + word_)) >> shift_) & mask_;
  }

 private:
  unsigned word_;
  unsigned shift_;
  std::uint32_t mask_;
};

inline bool equal(const std::uint32_t* a, const std::uint32_t* b, unsigned words) {
  std::uint32_t difference = 0;
  for (unsigned i = 0; i < words; ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

template <unsigned kWords>
[[gnu::always_inline]] inline void store_xor(std::uint32_t* out, const std::uint32_t* a,
                                             const std::uint32_t* b) {
  for (unsigned i = 0; i + 1 < kWords; i += 2) {
    const std::uint64_t pair = load64(a + i) ^ load64(b + i);
    std::memcpy(out + i, &pair, sizeof pair);
  }
  if (kWords % 2 == 1) out[kWords - 1] = a[kWords - 1] ^ b[kWords - 1];
}

/// Pairs of slots s > t in the order (1, 0), (2, 0), (2, 1), (3, 0), ...
inline std::uint32_t pair_number(std::uint32_t s, std::uint32_t t) { return s * (s - 1) / 2 + t; }

/// A pair of rows of a bucket in 32 bits, the bucket first.
inline std::uint32_t pair_name(unsigned bucket_bits, std::uint32_t bucket, std::uint32_t s,
                               std::uint32_t t) {
  return bucket << (32 - bucket_bits) | (s == 0 ? 0 : pair_number(s, t));
}

}  // namespace hosts::equihash::rows
