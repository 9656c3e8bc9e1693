// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <hosts/equihash/verifier.hpp>

namespace hosts::equihash::testing {

/// Every solution, by the definition: all pairs of all nodes, level by level. For parameters with
/// a few hundred strings of at most 64 bits.
inline std::vector<Indices> all_solutions(const Params& params,
                                          std::span<const std::uint8_t> input) {
  struct Node {
    std::uint64_t rest;
    Indices indices;
  };
  std::vector<Node> level;
  for (std::uint32_t index = 0; index < params.strings(); ++index) {
    Node node{0, {index}};
    for (const std::uint8_t byte : string_of(params, input, index))
      node.rest = node.rest << 8 | byte;
    level.push_back(std::move(node));
  }
  for (unsigned r = 1; r <= params.k; ++r) {
    const unsigned left = r == params.k ? 0 : params.n - r * params.digit_bits();  // bits, of both
    std::vector<Node> above;
    for (const Node& a : level) {
      for (const Node& b : level) {
        if ((a.rest ^ b.rest) >> left != 0 || a.indices[0] >= b.indices[0]) continue;
        if (std::ranges::find_first_of(a.indices, b.indices) != a.indices.end()) continue;
        above.push_back({a.rest ^ b.rest, a.indices});
        above.back().indices.insert(above.back().indices.end(), b.indices.begin(), b.indices.end());
      }
    }
    level = std::move(above);
  }
  std::vector<Indices> solutions;
  for (Node& node : level) solutions.push_back(std::move(node.indices));
  std::ranges::sort(solutions);
  return solutions;
}

}  // namespace hosts::equihash::testing
