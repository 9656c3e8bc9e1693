// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/crypto/address.hpp>
#include <span>
#include <string>
#include <vector>

namespace commensal::gateway {

/// One provider as the scheduler sees it.
struct Candidate {
  crypto::Address address;
  std::string name;
  std::string excluded;         // why it must not have this request, or ""
  bool is_paused = false;       // ... for which there is no other reason
  std::uint32_t load_cost = 0;  // of a model it has not cached, in requests: load_cost()
  std::uint32_t queued = 0;
  std::uint64_t served = 0;
};

/// What fetching a model that is not cached counts for, in requests that wait. It falls with the
/// number of requests that there have been for the model: what many ask for is worth having in
/// many places.
constexpr std::uint32_t load_cost(std::uint64_t demand) {
  return static_cast<std::uint32_t>(8 / (2 + demand));
}

/// The index of the best candidate: a short queue first, with what fetching the model counts for;
/// then the one that has served least, so that equals share evenly; then the lowest address.
/// A pure function.
/// Error: kUnavailable, one line with the reason for every provider (the first few of many).
core::Result<std::size_t> choose(std::span<const Candidate> candidates, std::string_view model);

}  // namespace commensal::gateway
