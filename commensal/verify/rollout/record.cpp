// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/rollout/record.hpp>
#include <set>

namespace commensal::rollout {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::Reader;
using protocol::Writer;

constexpr std::string_view kJobs = "rollout.job", kSteps = "rollout.step", kLast = "rollout.last",
                           kAge = "rollout.age", kNumber = "rollout.number";

core::Bytes step_key(const core::Digest& job_id, std::uint64_t step) {
  Writer key;
  key.raw(job_id);
  key.u64(step);
  return std::move(key).take();
}

core::Bytes number_bytes(std::uint64_t number) {
  Writer writer;
  writer.u64(number);
  return std::move(writer).take();
}

tl::unexpected<core::Error> unknown_rollout(const core::Digest& job_id) {
  return fail(ErrorCode::kNotFound, "unknown rollout {}", core::to_hex(job_id));
}

/// Keys of "rollout.age" begin with the newest.
Result<void> scan_ages(core::Store& store, const core::Store::Visitor& visit) {
  Result<void> read;
  COMMENSAL_TRY(store.scan(kAge, {}, [&](core::ByteView key, core::ByteView value) {
    if (key.size() == 8 && value.size() == core::Digest().size()) return visit(key, value);
    read =
        fail(ErrorCode::kDataLoss, "a rollout's age of {} and {} bytes", key.size(), value.size());
    return false;
  }));
  return read;
}

Result<std::uint64_t> newest_number(core::Store& store) {
  std::uint64_t newest = 0;
  COMMENSAL_TRY(scan_ages(store, [&](core::ByteView key, core::ByteView) {
    newest = ~Reader(key, "age").u64();
    return false;
  }));
  return newest;
}

}  // namespace

std::uint64_t bytes_of(const tensor::NamedTensors& tensors) {
  std::uint64_t bytes = 0;
  for (const tensor::NamedTensor& one : tensors) bytes += one.value.bytes().size();
  return bytes;
}

Result<std::vector<core::Digest>> rollouts_by_age(core::Store& store) {
  std::vector<core::Digest> rollouts;
  COMMENSAL_TRY(scan_ages(store, [&](core::ByteView, core::ByteView value) {
    std::copy(value.begin(), value.end(), rollouts.emplace_back().begin());
    return true;
  }));
  std::reverse(rollouts.begin(), rollouts.end());
  return rollouts;
}

Result<void> drop_strays(core::Store& store) {
  COMMENSAL_ASSIGN(const std::vector<core::Digest> rollouts, rollouts_by_age(store));
  const std::set<core::Digest> known(rollouts.begin(), rollouts.end());
  std::vector<core::Digest> strays;
  COMMENSAL_TRY(store.scan(kLast, {}, [&](core::ByteView key, core::ByteView) {
    core::Digest job{};
    if (key.size() != job.size()) return true;
    std::copy(key.begin(), key.end(), job.begin());
    if (!known.contains(job)) strays.push_back(job);
    return true;
  }));
  for (const core::Digest& job : strays) {
    JobRows rows(store, job);
    COMMENSAL_ASSIGN(const bool is_there, rows.is_there());
    if (!is_there) COMMENSAL_TRY(rows.erase({}));
  }
  return {};
}

Result<void> JobRows::put(const JobRecord& record) {
  const core::Bytes id(job_id_.begin(), job_id_.end());
  COMMENSAL_ASSIGN(const std::uint64_t newest, newest_number(store_));
  COMMENSAL_ASSIGN(core::Bytes bytes, protocol::encode_stored(record));
  const Last none{.job = bytes.size()};
  return store_.apply({written(none),
                       {std::string(kJobs), id, std::move(bytes)},
                       {std::string(kAge), number_bytes(~(newest + 1)), id},
                       {std::string(kNumber), id, number_bytes(newest + 1)}});
}

Result<void> JobRows::erase(core::Store::Batch more) {
  constexpr std::size_t kPortion = 4096;
  COMMENSAL_ASSIGN(const std::uint64_t last, this->last());
  COMMENSAL_ASSIGN(const auto number, store_.get(kNumber, job_id_));
  core::Store::Batch steps;
  for (std::uint64_t step = 1; step <= last; ++step) {
    steps.push_back({std::string(kSteps), step_key(job_id_, step), std::nullopt});
    if (steps.size() < kPortion && step < last) continue;
    COMMENSAL_TRY(store_.apply(steps));
    steps.clear();
  }
  const core::Bytes id(job_id_.begin(), job_id_.end());
  for (const std::string_view space : {kJobs, kLast, kNumber}) {
    more.push_back({std::string(space), id, std::nullopt});
  }
  if (number) {
    Reader reader(*number, "rollout's number");
    more.push_back({std::string(kAge), number_bytes(~reader.u64()), std::nullopt});
  }
  return store_.apply(more);
}

Result<void> JobRows::put(const StepRecord& record) {
  const std::uint64_t step = record.step.index();
  COMMENSAL_ASSIGN(Last last, read_last());
  if (last.job == 0) {  // an older version's, or none: nothing would ever take its steps away
    COMMENSAL_ASSIGN(const bool is_known, is_there());
    if (!is_known) return unknown_rollout(job_id_);
  }
  COMMENSAL_ASSIGN(core::Bytes bytes, protocol::encode_stored(record));
  if (step != last.step) last.before += last.bytes;
  last.step = step;
  last.bytes = bytes.size();
  return store_.apply(
      {{std::string(kSteps), step_key(job_id_, step), std::move(bytes)}, written(last)});
}

Result<void> JobRows::drop_before_last() {
  COMMENSAL_ASSIGN(Last last, read_last());
  if (last.step < 2) return {};
  last.before = 0;
  return store_.apply(
      {{std::string(kSteps), step_key(job_id_, last.step - 1), std::nullopt}, written(last)});
}

Result<bool> JobRows::is_there() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kJobs, job_id_));
  return row.has_value();
}

Result<JobRecord> JobRows::rollout() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kJobs, job_id_));
  if (!row) return unknown_rollout(job_id_);
  return protocol::decode_stored<JobRecord>(*row);
}

Result<StepRecord> JobRows::step(std::uint64_t step) {
  COMMENSAL_ASSIGN(const auto row, store_.get(kSteps, step_key(job_id_, step)));
  if (!row) {
    return fail(ErrorCode::kNotFound, "step {} of rollout {} is not there", step,
                core::to_hex(job_id_));
  }
  return protocol::decode_stored<StepRecord>(*row);
}

Result<JobRows::Last> JobRows::read_last() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kLast, job_id_));
  Last last;
  if (!row) return last;
  Reader reader(*row, "last step");
  last.step = reader.u64();
  if (row->size() > 8) {  // else of an older version
    last.job = reader.u64();
    last.before = reader.u64();
    last.bytes = reader.u64();
  }
  if (reader.finish()) return last;
  return fail(ErrorCode::kDataLoss, "a last step of {} bytes", row->size());
}

core::Store::Write JobRows::written(const Last& last) const {
  Writer row;
  for (const std::uint64_t one : {last.step, last.job, last.before, last.bytes}) row.u64(one);
  return {std::string(kLast), {job_id_.begin(), job_id_.end()}, std::move(row).take()};
}

Result<std::uint64_t> JobRows::last() {
  COMMENSAL_ASSIGN(const Last last, read_last());
  return last.step;
}

Result<JobRows::Bytes> JobRows::bytes() {
  COMMENSAL_ASSIGN(const Last last, read_last());
  return Bytes{last.job + last.before + last.bytes, last.bytes};
}

Result<receipt::Opening> opening_of(core::Store& store, const core::Digest& job_id,
                                    std::uint64_t step) {
  JobRows rows(store, job_id);
  COMMENSAL_ASSIGN(StepRecord record, rows.step(step));
  if (record.step.phase() != receipt::StepPhase::kDelivered) {
    return fail(ErrorCode::kNotFound, "step {} is not delivered", step);
  }
  COMMENSAL_ASSIGN(JobRecord agreed, rows.rollout());
  receipt::Opening made;
  made.task.job = std::move(agreed.job);
  made.task.step = step;
  made.task.value = record.value;
  made.task.input_salt = agreed.input_salt;
  made.task.inputs = std::move(agreed.inputs);
  if (step > 1) {
    COMMENSAL_ASSIGN(StepRecord before, rows.step(step - 1));
    made.task.before = before.step.receipt();
    made.task.salt_before = before.output_salt;
    made.task.outputs_before = std::move(before.outputs);
  }
  made.output_salt = record.output_salt;
  made.outputs = std::move(record.outputs);
  return made;
}

}  // namespace commensal::rollout
