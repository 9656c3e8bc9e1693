// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/gateway/answer.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::gateway {

protocol::Job job_for(const Order& order, const core::Digest& input_salt,
                      const crypto::Address& client, const crypto::Address& provider,
                      const crypto::Address& auditor) {
  protocol::Job job;
  job.graph_root = order.model.graph_root;
  job.weight_root = order.model.weight_root;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment = protocol::commit_input(receipt::state_root(order.inputs), input_salt);
  job.client = client;
  job.provider = provider;
  if (order.model.is_private) {
    job.auditors = protocol::AuditorClass::kOwnerList;
    job.auditor_list = {auditor};
  }
  return job;
}

}  // namespace commensal::gateway
