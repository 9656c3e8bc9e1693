// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/address.hpp>
#include <commensal/serve/rpc/messages.hpp>
#include <cstdint>
#include <memory>
#include <optional>

namespace commensal::gateway {

/// Where an order was and when, for who looks on: at its provider, the last one. Written on the
/// loop; times are of its clock.
struct Journey {
  rpc::RequestName name = {};     // which providers are told; without an id nothing is
  std::int64_t offered_ns = 0;    // 0: not yet
  std::int64_t committed_ns = 0;  // likewise
  std::uint32_t offers = 0;
  crypto::Address provider = {};
  bool tells_runs = false;                   // that provider says how it ran the model
  std::optional<rpc::Commit::Run> run = {};  // as it says, if it says it with this order

  void on_offer(const crypto::Address& to, std::int64_t now_ns);
  /// It is item number `item` of the message.
  void on_commit(const rpc::Commit& message, std::size_t item, std::int64_t now_ns);
};
using JourneyPtr = std::shared_ptr<Journey>;

}  // namespace commensal::gateway
