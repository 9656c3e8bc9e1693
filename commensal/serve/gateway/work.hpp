// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/journey.hpp>
#include <commensal/serve/gateway/scheduling.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/verify/rollout/client.hpp>
#include <memory>
#include <optional>

namespace commensal::gateway {

/// Names an order of this run of the gateway.
using OrderId = std::uint64_t;
inline constexpr OrderId kNobodysOrder = ~OrderId{0};

/// What is asked of providers. The inputs are in the order of the model's (order_inputs).
struct Order {
  std::string account;  // whose it is
  ModelVersion model;
  tensor::NamedTensors inputs;
  bool is_again = false;  // an answer that its account has paid for once: the gateway's own affair
  core::Digest draw_commitment{};  // its consumer's, as in protocol::Job
  Scheduling scheduling = {};
  std::int64_t timeout_ms = 0;   // then nobody waits for it; 0: as long as it takes
  JourneyPtr journey = nullptr;  // null: nobody looks on
  /// Of its inputs (PrivacyAuditors): who is not vouched for never sees them; "": of none.
  std::string privacy_class = {};

  /// Anybody may see its inputs, and what is said of them.
  bool is_public() const { return !model.is_private && privacy_class.empty(); }
};

/// A job in the gateway's hands, at one provider.
struct Work {
  rollout::ClientJob client;
  std::string account;
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  core::Digest content{};                   // SHA-256 of the model's file
  OrderId order = 0;                        // that it is for; 0: a rollout's
  bool is_charged = true;                   // to the account, on delivery
  std::optional<double> audit_probability;  // its consumer's choice; else by its provider's risk
  bool is_late = false;                     // a pause of its provider excuses it no longer
  std::optional<rpc::Batching> batching = {};
  rpc::GatewayPort::StreamId offered_on = 0;
  JourneyPtr journey = nullptr;    // its order's
  std::string privacy_class = {};  // likewise

  const core::Digest& id() const { return client.job_id(); }
  const protocol::Job& job() const { return client.job(); }
};
using WorkPtr = std::shared_ptr<Work>;

/// What a job's client needs to know of a model: a graph that has these inputs and outputs, and
/// nothing between them.
std::shared_ptr<const graph::Graph> outline_of(const std::vector<ModelPort>& inputs,
                                               const std::vector<ModelPort>& outputs);

/// What all jobs of a gateway have in common, from the order's model and inputs on; one step, no
/// money yet. `auditor` is the gateway's own: the only one unless the job's kind is shown to
/// others.
protocol::Job job_for(const Order& order, const core::Digest& input_salt,
                      const crypto::Address& client, const crypto::Address& provider,
                      const crypto::Address& auditor);
/// The same with what it is computed from.
rollout::JobRecord record_for(const Order& order, const core::Digest& input_salt,
                              const crypto::Address& client, const crypto::Address& provider,
                              const crypto::Address& auditor);
/// Any auditor with a stake may see what it is computed from.
void admit_all(protocol::Job& job);

/// The work of an order of one step. Precondition: this gateway has made the record.
WorkPtr begin_work(const crypto::SecretKey& key, const Order& order, rollout::JobRecord record,
                   OrderId id);

}  // namespace commensal::gateway
