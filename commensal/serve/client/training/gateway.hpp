// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/client.hpp>

namespace commensal::training {

/// All that a training asks of the gateway where its segments are made; each call and its errors as
/// client::Client's of this name. Thread-safety: one thread at a time.
class Gateway {
 public:
  virtual ~Gateway() = default;

  virtual core::Result<client::ModelInfo> model(const std::string& name) = 0;
  virtual core::Result<client::ModelInfo> push(const client::PushRequest& request) = 0;
  virtual core::Result<client::ModelInfo> allow(const std::string& name,
                                                const std::vector<crypto::Address>& providers) = 0;

  virtual core::Result<client::RolloutInfo> start_rollout(const client::RolloutOrder& order) = 0;
  virtual core::Result<client::RolloutInfo> rollout(const core::Digest& id, std::uint64_t after,
                                                    std::int64_t wait_ms) = 0;
  virtual core::Result<std::vector<client::RolloutInfo>> rollouts(
      const std::string& key_prefix) = 0;
  virtual core::Result<void> cancel_rollout(const core::Digest& id) = 0;
  virtual core::Result<core::Bytes> rollout_record(const core::Digest& id) = 0;
  virtual core::Result<core::Bytes> rollout_step(const core::Digest& id, std::uint64_t step) = 0;

  /// Of a step of a rollout, in units of money; 0: there is none, or the gateway does not say.
  virtual double price() = 0;
};

}  // namespace commensal::training
