// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/verify/receipt/opening.hpp>

namespace commensal::gateway {

/// Names an order of this run of the gateway.
using OrderId = std::uint64_t;

/// What is asked of a provider. The inputs are in the order of the model's (order_inputs).
struct Order {
  std::string account;  // whose it is; "": the gateway's own
  ModelVersion model;
  tensor::NamedTensors inputs;
};

/// A delivered answer: it opens the commitment that both sides have signed.
struct Answer {
  protocol::Receipt receipt;
  receipt::Opening opening;
};

/// What all jobs of a gateway have in common, from the order's model and inputs on; one step, no
/// money yet. A private model is audited by its gateway only, whose key `auditor` is.
protocol::Job job_for(const Order& order, const core::Digest& input_salt,
                      const crypto::Address& client, const crypto::Address& provider,
                      const crypto::Address& auditor);

}  // namespace commensal::gateway
