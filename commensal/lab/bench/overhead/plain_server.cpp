// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/bench/overhead/plain_server.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::lab::bench::overhead {

core::Result<tensor::NamedTensors> PlainServer::answer(const rpc::Offer& offer) {
  if (opens_inputs_ &&
      offer.job.input_commitment !=
          protocol::commit_input(receipt::state_root(offer.inputs), offer.input_salt)) {
    return core::fail(core::ErrorCode::kFailedPrecondition, "the inputs do not open c_0");
  }
  const graph::Graph& graph = engine_.graph();
  COMMENSAL_ASSIGN(const auto inputs, receipt::order_inputs(graph, offer.inputs));
  COMMENSAL_ASSIGN(auto outputs, engine_.run(inputs));
  return receipt::name_tensors(graph, graph.outputs, std::move(outputs));
}

void PlainServer::on_message(rpc::ToProvider message) {
  if (std::holds_alternative<rpc::Challenge>(message)) return gateway_.send(rpc::Hello{});
  if (!std::holds_alternative<rpc::Offer>(message)) return;
  struct Work {
    core::Digest job{};
    rpc::Offer offer;
    core::Result<tensor::NamedTensors> outputs;
  };
  auto& offer = std::get<rpc::Offer>(message);
  const core::Digest job = protocol::job_id(offer.job);
  auto work = std::make_shared<Work>(Work{job, std::move(offer), {}});
  loop_.offload(
      core::Loop::Lane::kComputing,
      [this, self = shared_from_this(), work] { work->outputs = answer(work->offer); },
      [this, self = shared_from_this(), work] {
        if (!work->outputs) {
          gateway_.send(rpc::Refuse{work->job, work->outputs.error()});
        } else {
          gateway_.send(rpc::Deliver{work->job, 1, {}, *std::move(work->outputs)});
        }
      });
}

}  // namespace commensal::lab::bench::overhead
