// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/merkle.hpp>

namespace commensal::spot {

using core::Digest;

/// Several leaves of one tree under one proof: the roots of all largest subtrees without any of
/// them, from left to right. `indices` ascend, each once, below the number of leaves.
/// Pure functions. Source: RFC 6962, section 2.1, for the shape of the tree.
std::vector<Digest> prove_leaves(std::span<const Digest> leaf_hashes,
                                 std::span<const std::uint64_t> indices);

/// How many digests that proof has.
std::size_t siblings_of(std::uint64_t count, std::span<const std::uint64_t> indices);

/// The root that it leads to. Precondition: as many `leaves` as `indices`, and as many `siblings`
/// as siblings_of says.
Digest root_of_leaves(std::uint64_t count, std::span<const std::uint64_t> indices,
                      std::span<const Digest> leaves, std::span<const Digest> siblings);

}  // namespace commensal::spot
