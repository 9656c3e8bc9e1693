// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/verify/rollout/step.hpp>

namespace commensal::rollout {

// What either party keeps of a rollout, and in which rows of its store.

/// Everything that both parties know before step 1.
struct RolloutRecord {
  protocol::Job job;
  core::Digest input_salt{};
  tensor::NamedTensors inputs;
};

/// How far a step has got: one party's own view (verify/receipt/step.hpp has the whole order).
enum class StepPhase : std::uint8_t { kCommitted, kCountersigned, kDelivered };
std::span<const std::string_view> enum_names(StepPhase);

struct StepRecord {
  std::uint64_t step = 0;
  StepPhase phase = StepPhase::kCommitted;
  core::Digest value{};  // of the noise chain
  Signed body;           // the client's signature from kCountersigned on
  core::Digest output_salt{};
  tensor::NamedTensors outputs;  // of the provider always, of the client once they are delivered
};

core::Bytes encode(const RolloutRecord& record);
core::Bytes encode(const StepRecord& record);
/// Error: kInvalidArgument, naming the field.
core::Result<RolloutRecord> decode_rollout_record(core::ByteView bytes);
core::Result<StepRecord> decode_step_record(core::ByteView bytes);

/// The rollouts that a store holds, the oldest first. Errors: the store's, kDataLoss.
core::Result<std::vector<core::Digest>> rollouts_by_age(core::Store& store);

/// "rollout.job": J -> RolloutRecord; "rollout.step": J | i -> StepRecord; "rollout.last": J -> i;
/// "rollout.age": ~n -> J and "rollout.number": J -> n, rollouts as they were made.
/// Thread-safety: the store's.
class RolloutRows {
 public:
  /// `store` must outlive this object.
  RolloutRows(core::Store& store, const core::Digest& job_id) : store_(store), job_id_(job_id) {}

  core::Result<void> put(const RolloutRecord& record);
  /// Durable when it returns.
  core::Result<void> put(const StepRecord& record);
  /// Whether the rollout is in the store.
  core::Result<bool> is_there();
  /// Errors: kNotFound, kDataLoss.
  core::Result<RolloutRecord> rollout();
  core::Result<StepRecord> step(std::uint64_t step);
  /// 0 before the first.
  core::Result<std::uint64_t> last();
  /// All of it: steps in portions, then the rest in one batch with `more`.
  core::Result<void> erase(core::Store::Batch more);

 private:
  core::Store& store_;
  core::Digest job_id_;
};

}  // namespace commensal::rollout
