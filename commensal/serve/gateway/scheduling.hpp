// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/messages.hpp>
#include <cstdint>
#include <optional>

namespace commensal::gateway {

using rpc::Batching;

/// How an order waits where no provider is free, and is computed with others: as its model is
/// configured, or asks for nothing of it.
struct Scheduling {
  /// Of what its account has waiting of the model, the lowest level goes first; 0: there are none.
  std::uint32_t level = 0;
  std::uint32_t queue_max = 0;        // of these in the level so many may wait; 0: any number
  std::int64_t queue_timeout_ms = 0;  // so long it may wait; 0: as long as any order
  bool is_delayed_then = false;       // it goes behind the others of its level, instead of ending
  std::optional<Batching> batching = {};
};

}  // namespace commensal::gateway
