// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

/// Equihash with Zcash's conventions: A. Biryukov, D. Khovratovich, "Equihash: Asymmetric
/// Proof-of-Work Based on the Generalized Birthday Problem" (NDSS 2016), and the Zcash protocol
/// specification, section "Equihash".
namespace hosts::equihash {

/// n bits a string, 2^k strings a solution. Strings fall into k + 1 digits of n / (k + 1) bits.
struct Params {
  unsigned n = 200;
  unsigned k = 9;

  unsigned digit_bits() const { return n / (k + 1); }
  unsigned index_bits() const { return digit_bits() + 1; }
  std::uint32_t strings() const { return std::uint32_t{1} << index_bits(); }
  std::size_t solution_indices() const { return std::size_t{1} << k; }
  std::size_t string_bytes() const { return n / 8; }
  /// One BLAKE2b gives as many whole strings as fit into its 64 bytes.
  unsigned strings_per_hash() const { return 512 / n; }
  std::size_t hash_bytes() const { return strings_per_hash() * string_bytes(); }
};

inline constexpr unsigned kDigitBitsMax = 20;  // a pair of rows is named by 32 bits (solver.cpp)
inline constexpr unsigned kDigitBitsMin = 4;

/// Errors: one line that says what was expected.
tl::expected<Params, std::string> make_params(unsigned n, unsigned k);

/// Indices in the order of the tree, left subtree first.
using Indices = std::vector<std::uint32_t>;

}  // namespace hosts::equihash
