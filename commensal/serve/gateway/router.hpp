// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/crypto/address.hpp>
#include <span>
#include <string>
#include <vector>

namespace commensal::gateway {

/// One provider as the router sees it.
struct Candidate {
  crypto::Address address;
  std::string name;
  std::string excluded;  // why it must not have this request, or ""
  bool has_model = false;
  std::uint32_t queued = 0;
  std::uint64_t served = 0;
};

/// The index of the best candidate: a short queue first, where loading a model that is not cached
/// counts as kModelLoadCost requests; then the one that has served least, so that equals share
/// evenly; then the lowest address. A pure function.
/// Error: kUnavailable, one line with the reason for every provider (the first few of many).
core::Result<std::size_t> choose(std::span<const Candidate> candidates, std::string_view model);

inline constexpr std::uint32_t kModelLoadCost = 4;

}  // namespace commensal::gateway
