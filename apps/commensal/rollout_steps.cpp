// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/rollout_steps.hpp>

namespace commensal::apps {

core::Result<tensor::NamedTensors> RolloutSteps::outputs(std::uint64_t step) {
  if (!signed_) {
    const auto ask = [&] { return client_.rollout_record(rollout_); };
    COMMENSAL_ASSIGN(const core::Bytes bytes, ask_again(clock_, away_ms_max_, ask, stop_));
    COMMENSAL_ASSIGN(const auto record, protocol::decode<rollout::JobRecord>(bytes));
    COMMENSAL_ASSIGN(signed_, open_(record));
  }
  const auto ask = [&] { return client_.rollout_step(rollout_, step); };
  COMMENSAL_ASSIGN(const core::Bytes bytes, ask_again(clock_, away_ms_max_, ask, stop_));
  COMMENSAL_ASSIGN(const auto record, protocol::decode<rollout::StepRecord>(bytes));
  return signed_->outputs(record, step);
}

}  // namespace commensal::apps
