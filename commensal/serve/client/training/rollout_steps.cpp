// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/rollout_steps.hpp>

namespace commensal::training {

using core::Result;

Result<rollout::JobRecord> RolloutSteps::record() {
  const auto ask = [&] { return gateway_.rollout_record(rollout_); };
  COMMENSAL_ASSIGN(const core::Bytes bytes, client::ask_again(clock_, away_ms_max_, ask, stop_));
  COMMENSAL_ASSIGN(auto record, protocol::decode<rollout::JobRecord>(bytes));
  if (signed_) return record;
  COMMENSAL_ASSIGN(signed_, open_(record));
  open_ = {};  // it may hold a whole state
  return record;
}

Result<tensor::NamedTensors> RolloutSteps::inputs() {
  COMMENSAL_ASSIGN(rollout::JobRecord found, record());
  return std::move(found.inputs);
}

Result<tensor::NamedTensors> RolloutSteps::outputs(std::uint64_t step) {
  if (!signed_) COMMENSAL_TRY(record());
  const auto ask = [&] { return gateway_.rollout_step(rollout_, step); };
  COMMENSAL_ASSIGN(const core::Bytes bytes, client::ask_again(clock_, away_ms_max_, ask, stop_));
  COMMENSAL_ASSIGN(const auto record, protocol::decode<rollout::StepRecord>(bytes));
  return signed_->outputs(record, step);
}

}  // namespace commensal::training
