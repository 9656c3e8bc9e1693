// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/overhead/plain_server.hpp>

namespace commensal::lab::overhead {

core::Result<tensor::NamedTensors> PlainServer::answer(const rpc::Task& task) {
  if (opens_inputs_ &&
      task.job.input_commitment !=
          protocol::commit_input(receipt::state_root(task.inputs), task.input_salt)) {
    return core::fail(core::ErrorCode::kFailedPrecondition, "the inputs do not open c_0");
  }
  return engine_.run(task.inputs);
}

void PlainServer::on_message(rpc::ToProvider message) {
  if (std::holds_alternative<rpc::Challenge>(message)) return gateway_.send(rpc::Hello{});
  if (!std::holds_alternative<rpc::Task>(message)) return;
  struct Work {
    rpc::Task task;
    core::Result<tensor::NamedTensors> outputs;
  };
  auto work = std::make_shared<Work>(Work{std::get<rpc::Task>(std::move(message)), {}});
  loop_.offload([this, self = shared_from_this(), work] { work->outputs = answer(work->task); },
                [this, self = shared_from_this(), work] {
                  if (!work->outputs) {
                    gateway_.send(rpc::Refuse{work->task.id, work->outputs.error()});
                  } else {
                    gateway_.send(rpc::Deliver{work->task.id, {}, *std::move(work->outputs)});
                  }
                });
}

}  // namespace commensal::lab::overhead
