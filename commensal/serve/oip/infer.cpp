// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/oip/infer.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::oip {

void infer(const Services& services, const Asker& asker, InferRequest request,
           gateway::InferDone done) {
  const auto order = std::make_shared<gateway::InferRequest>(
      gateway::InferRequest{.account = asker.account,
                            .model = std::move(request.model),
                            .version = request.version,
                            .inputs = std::move(request.body.inputs),
                            .outputs = {},
                            .left = std::move(request.left),
                            .draw_commitment = request.body.draw_commitment,
                            .check = std::move(request.check)});
  receipt::take_roots(order->inputs);
  for (RequestedOutput& output : request.body.outputs) {
    order->outputs.push_back(std::move(output.name));
  }
  services.turns->post(asker.line, [&services, order, done = std::move(done)]() mutable {
    services.gateway.infer(std::move(*order), std::move(done));
  });
}

}  // namespace commensal::oip
