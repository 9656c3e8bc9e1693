// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/receipt/step.hpp>

namespace commensal::rollout {

// What either party keeps of a rollout, and in which rows of its store: records
// (protocol::encode, protocol::decode).

/// Everything that both parties know before step 1.
struct JobRecord {
  static constexpr std::string_view kRecord = "rollout";

  protocol::Job job;
  core::Digest input_salt{};
  tensor::NamedTensors inputs;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("input_salt", self.input_salt);
    archive.field("inputs", self.inputs);
  }
};

/// One party's own view of a step.
struct StepRecord {
  static constexpr std::string_view kRecord = "step";

  receipt::Step step;
  core::Digest value{};  // of the noise chain
  core::Digest output_salt{};
  tensor::NamedTensors outputs;  // of the provider always, of the client once they are delivered

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("step", self.step);
    archive.field("value", self.value);
    archive.field("output_salt", self.output_salt);
    archive.field("outputs", self.outputs);
  }
};

/// Of their elements.
std::uint64_t bytes_of(const tensor::NamedTensors& tensors);

/// What an auditor of a delivered step is shown, and what its answer is compared by.
/// Errors: kNotFound, kDataLoss.
core::Result<receipt::Opening> opening_of(core::Store& store, const core::Digest& job_id,
                                          std::uint64_t step);

/// The rollouts that a store holds, the oldest first. Errors: the store's, kDataLoss.
core::Result<std::vector<core::Digest>> rollouts_by_age(core::Store& store);
/// Drops the steps whose rollout is not there, which nothing else would find. It looks at a small
/// row of each rollout: for a start. Errors: the store's, kDataLoss.
core::Result<void> drop_strays(core::Store& store);

/// "rollout.job": J -> JobRecord; "rollout.step": J | i -> StepRecord; "rollout.last": J -> i and
/// how many bytes its records have; "rollout.age": ~n -> J and "rollout.number": J -> n, rollouts
/// as they were made. Thread-safety: the store's.
class JobRows {
 public:
  /// `store` must outlive this object.
  JobRows(core::Store& store, const core::Digest& job_id) : store_(store), job_id_(job_id) {}

  core::Result<void> put(const JobRecord& record);
  /// Durable when it returns. Error: kNotFound (the rollout is not there; nothing is written).
  core::Result<void> put(const StepRecord& record);
  /// Whether the rollout is in the store.
  core::Result<bool> is_there();
  /// Errors: kNotFound, kDataLoss.
  core::Result<JobRecord> rollout();
  core::Result<StepRecord> step(std::uint64_t step);
  /// 0 before the first.
  core::Result<std::uint64_t> last();
  /// Of its records, which are nearly all that it takes on the disk, and of the last step's. An
  /// older version's rows count nothing. Errors: kDataLoss.
  struct Bytes {
    std::uint64_t all = 0, last = 0;
  };
  core::Result<Bytes> bytes();
  /// Drops the step before the last, of which the provider needs nothing once it has committed to
  /// the last: whoever accuses it of one shows it what that began with.
  core::Result<void> drop_before_last();
  /// All of it: steps in portions, then the rest in one batch with `more`.
  core::Result<void> erase(core::Store::Batch more);

 private:
  struct Last {
    std::uint64_t step = 0;
    std::uint64_t job = 0, before = 0, bytes = 0;  // of the records: J's, other steps', its own
  };
  core::Result<Last> read_last();
  core::Store::Write written(const Last& last) const;

  core::Store& store_;
  core::Digest job_id_;
};

}  // namespace commensal::rollout
