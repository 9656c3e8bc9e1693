// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <optional>
#include <string>

namespace commensal::provider {

/// The keys of the gateways that a provider has met, by the address it dialled. Durable.
/// Thread-safety: one thread.
class KnownGateways {
 public:
  /// `expected`, where there is one, takes the place of what is remembered.
  KnownGateways(core::Store& store, std::string dialled, std::optional<crypto::Address> expected)
      : store_(store), dialled_(std::move(dialled)), expected_(expected) {}

  /// Whether it is the gateway itself that ends the channel, and the one that is expected: the same
  /// as the first time. Errors: kUnauthenticated; the store's.
  core::Result<void> meet(const rpc::Challenge& challenge, const rpc::Channel& channel);
  /// The key that was taken on trust because there was none to expect, if that was since the start.
  const std::optional<crypto::Address>& trusted_anew() const { return trusted_anew_; }

 private:
  core::Store& store_;
  const std::string dialled_;
  const std::optional<crypto::Address> expected_;
  std::optional<crypto::Address> trusted_anew_;
};

}  // namespace commensal::provider
