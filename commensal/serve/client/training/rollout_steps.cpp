// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/rollout_steps.hpp>

namespace commensal::training {

core::Result<tensor::NamedTensors> RolloutSteps::outputs(std::uint64_t step) {
  if (!signed_) {
    const auto ask = [&] { return gateway_.rollout_record(rollout_); };
    COMMENSAL_ASSIGN(const core::Bytes bytes, client::ask_again(clock_, away_ms_max_, ask, stop_));
    COMMENSAL_ASSIGN(const auto record, protocol::decode<rollout::JobRecord>(bytes));
    COMMENSAL_ASSIGN(signed_, open_(record));
  }
  const auto ask = [&] { return gateway_.rollout_step(rollout_, step); };
  COMMENSAL_ASSIGN(const core::Bytes bytes, client::ask_again(clock_, away_ms_max_, ask, stop_));
  COMMENSAL_ASSIGN(const auto record, protocol::decode<rollout::StepRecord>(bytes));
  return signed_->outputs(record, step);
}

}  // namespace commensal::training
