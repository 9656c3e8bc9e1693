// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/training/gateway.hpp>

namespace commensal::training {

/// A gateway over HTTP. Thread-safety and errors: the client's.
class HttpGateway final : public Gateway {
 public:
  /// Makes who hears of one push how far it is, and is gone when that is over.
  using Pushing = std::function<client::Progress()>;

  /// `client` outlives this object.
  explicit HttpGateway(client::Client& client, Pushing pushing = {})
      : client_(client), pushing_(std::move(pushing)) {}

  core::Result<client::ModelInfo> model(const std::string& name) override;
  core::Result<client::ModelInfo> push(const client::PushRequest& request) override;
  core::Result<client::ModelInfo> allow(const std::string& name,
                                        const std::vector<crypto::Address>& providers) override;
  core::Result<client::RolloutInfo> start_rollout(const client::RolloutOrder& order) override;
  core::Result<client::RolloutInfo> rollout(const core::Digest& id, std::uint64_t after,
                                            std::int64_t wait_ms) override;
  core::Result<std::vector<client::RolloutInfo>> rollouts(const std::string& key_prefix) override;
  core::Result<void> cancel_rollout(const core::Digest& id) override;
  core::Result<core::Bytes> rollout_record(const core::Digest& id) override;
  core::Result<core::Bytes> rollout_step(const core::Digest& id, std::uint64_t step) override;
  double price() override;

 private:
  client::Client& client_;
  const Pushing pushing_;
};

}  // namespace commensal::training
