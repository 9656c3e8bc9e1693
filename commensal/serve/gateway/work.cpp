// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/gateway/work.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::gateway {

std::shared_ptr<const graph::Graph> outline_of(const std::vector<ModelPort>& inputs,
                                               const std::vector<ModelPort>& outputs) {
  auto graph = std::make_shared<graph::Graph>();
  const auto add = [&](const std::vector<ModelPort>& ports, std::vector<graph::ValueId>& ids) {
    for (const ModelPort& port : ports) {
      ids.push_back(static_cast<graph::ValueId>(graph->values.size()));
      graph->values.push_back({port.name, port.declared});
    }
  };
  add(inputs, graph->inputs);
  add(outputs, graph->outputs);
  return graph;
}

protocol::Job job_for(const Order& order, const core::Digest& input_salt,
                      const crypto::Address& client, const crypto::Address& provider,
                      const crypto::Address& auditor) {
  protocol::Job job;
  job.graph_root = order.model.graph_root;
  job.weight_root = order.model.weight_root;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment = protocol::commit_input(receipt::taken_root(order.inputs), input_salt);
  job.draw_commitment = order.draw_commitment;
  job.client = client;
  job.provider = provider;
  // Others may see its inputs only where that was said (GatewayConfig::outside_auditors).
  job.auditors = protocol::AuditorClass::kOwnerList;
  job.auditor_list = {auditor};
  return job;
}

rollout::JobRecord record_for(const Order& order, const core::Digest& input_salt,
                              const crypto::Address& client, const crypto::Address& provider,
                              const crypto::Address& auditor) {
  rollout::JobRecord record;
  record.input_salt = input_salt;
  record.inputs = order.inputs;
  record.job = job_for(order, input_salt, client, provider, auditor);
  return record;
}

void admit_all(protocol::Job& job) {
  job.auditors = protocol::AuditorClass::kPublic;
  job.auditor_list.clear();
}

WorkPtr begin_work(const crypto::SecretKey& key, const Order& order, rollout::JobRecord record,
                   OrderId id) {
  auto client = rollout::ClientJob::start(
      {key, outline_of(order.model.inputs, order.model.outputs), {}, nullptr}, std::move(record));
  core::check(client.has_value(), "a job that this gateway has made");
  return std::make_shared<Work>(Work{.client = *std::move(client),
                                     .account = order.account,
                                     .model = order.model.name,
                                     .version = order.model.version,
                                     .content = order.model.content,
                                     .order = id,
                                     .is_charged = !order.is_again,
                                     .audit_probability = {},
                                     .journey = order.journey,
                                     .privacy_class = order.privacy_class});
}

}  // namespace commensal::gateway
