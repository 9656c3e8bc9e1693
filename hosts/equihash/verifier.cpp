// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>

#include <algorithm>
#include <array>
#include <hosts/equihash/verifier.hpp>

namespace hosts::equihash {
namespace {

using Text = std::vector<std::uint8_t>;

std::array<std::uint8_t, 4> little_endian(std::uint32_t value) {
  return {static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
          static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 24)};
}

/// "ZcashPoW", then n and k as four bytes each.
std::array<std::uint8_t, crypto_generichash_blake2b_PERSONALBYTES> personalisation(
    const Params& params) {
  std::array<std::uint8_t, crypto_generichash_blake2b_PERSONALBYTES> bytes{'Z', 'c', 'a', 's',
                                                                           'h', 'P', 'o', 'W'};
  std::ranges::copy(little_endian(params.n), bytes.begin() + 8);
  std::ranges::copy(little_endian(params.k), bytes.begin() + 12);
  return bytes;
}

bool begins_with_zero_bits(const Text& text, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    if ((text[bit / 8] >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

Text string_of(const Params& params, std::span<const std::uint8_t> input, std::uint32_t index) {
  const auto personal = personalisation(params);
  const auto number = little_endian(index / params.strings_per_hash());
  crypto_generichash_blake2b_state state;
  Text hash(params.hash_bytes());
  crypto_generichash_blake2b_init_salt_personal(&state, nullptr, 0, hash.size(), nullptr,
                                                personal.data());
  crypto_generichash_blake2b_update(&state, input.data(), input.size());
  crypto_generichash_blake2b_update(&state, number.data(), number.size());
  crypto_generichash_blake2b_final(&state, hash.data(), hash.size());
  const auto begin = hash.begin() + static_cast<std::ptrdiff_t>(index % params.strings_per_hash() *
                                                                params.string_bytes());
  return {begin, begin + static_cast<std::ptrdiff_t>(params.string_bytes())};
}

std::optional<std::string> verify(const Params& params, std::span<const std::uint8_t> input,
                                  const Indices& indices) {
  if (indices.size() != params.solution_indices())
    return "expected " + std::to_string(params.solution_indices()) + " indices";
  for (const std::uint32_t index : indices) {
    if (index >= params.strings()) return "index " + std::to_string(index) + " is too large";
  }
  Indices sorted = indices;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return "an index appears twice";

  std::vector<Text> level;
  for (const std::uint32_t index : indices) level.push_back(string_of(params, input, index));
  // Level by level: neighbours are joined; after level r the first r digits of each XOR are zero,
  // and the left half of every subtree begins with the smaller index.
  for (unsigned r = 1; r <= params.k; ++r) {
    const std::size_t width = std::size_t{1} << r;  // indices under one node
    std::vector<Text> above;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      Text joined = level[i];
      for (std::size_t j = 0; j < joined.size(); ++j) joined[j] ^= level[i + 1][j];
      const unsigned bits = r == params.k ? params.n : r * params.digit_bits();
      if (!begins_with_zero_bits(joined, bits))
        return "the XOR of level " + std::to_string(r) + " does not begin with " +
               std::to_string(bits) + " zero bits";
      const std::size_t at = i / 2 * width;
      if (indices[at] >= indices[at + width / 2])
        return "the halves of level " + std::to_string(r) + " are in the wrong order";
      above.push_back(std::move(joined));
    }
    level = std::move(above);
  }
  return std::nullopt;
}

}  // namespace hosts::equihash
