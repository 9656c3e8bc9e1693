// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/receipt/tensor_codec.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::rollout {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::Reader;
using protocol::Writer;

// Larger than nouns may be, so they have frames of their own: version, then the fields.
constexpr std::uint8_t kVersion = 1;
constexpr std::string_view kJobs = "rollout.job", kSteps = "rollout.step", kLast = "rollout.last",
                           kAge = "rollout.age", kNumber = "rollout.number";

void write_signed(Writer& writer, const Signed& body) {
  writer.field("commitment", body.commitment);
  writer.field("round", body.round);
  writer.field("provider", body.provider);
  writer.field("client", body.client);
}

void read_signed(Reader& reader, Signed& body) {
  reader.field("commitment", body.commitment);
  reader.field("round", body.round);
  reader.field("provider", body.provider);
  reader.field("client", body.client);
}

void read_version(Reader& reader) {
  if (reader.u8() != kVersion) reader.refuse(ErrorCode::kInvalidArgument, "unknown version");
}

core::Bytes step_key(const core::Digest& job_id, std::uint64_t step) {
  Writer key;
  key.raw(job_id);
  key.u64(step);
  return std::move(key).take();
}

/// What a store holds was written by this program: anything else is damage.
template <class T>
Result<T> undamaged(Result<T> decoded) {
  if (decoded) return decoded;
  return fail(ErrorCode::kDataLoss, "{}", decoded.error().message);
}

}  // namespace

std::span<const std::string_view> enum_names(StepPhase) {
  static constexpr std::string_view kNames[] = {"committed", "countersigned", "delivered"};
  return kNames;
}

namespace {

void write_task(Writer& writer, const StepTask& task) {
  writer.field("job", task.job);
  writer.field("step", task.step);
  writer.field("value", task.value);
  writer.field("input_salt", task.input_salt);
  receipt::write_tensors(writer, task.inputs);
  writer.u8(task.signed_before ? 1 : 0);
  if (task.signed_before) write_signed(writer, *task.signed_before);
  writer.field("salt_before", task.salt_before);
  receipt::write_tensors(writer, task.outputs_before);
}

void read_task(Reader& reader, StepTask& task) {
  reader.field("job", task.job);
  reader.field("step", task.step);
  reader.field("value", task.value);
  reader.field("input_salt", task.input_salt);
  task.inputs = receipt::read_tensors(reader);
  const std::uint8_t has_before = reader.u8();
  if (has_before > 1) reader.refuse(ErrorCode::kInvalidArgument, "expected 0 or 1");
  if (has_before == 1) read_signed(reader, task.signed_before.emplace());
  reader.field("salt_before", task.salt_before);
  task.outputs_before = receipt::read_tensors(reader);
}

}  // namespace

core::Bytes encode(const StepTask& task) {
  Writer writer;
  writer.u8(kVersion);
  write_task(writer, task);
  return std::move(writer).take();
}

Result<StepTask> decode_step_task(core::ByteView bytes) {
  Reader reader(bytes, "step task");
  StepTask task;
  read_version(reader);
  read_task(reader, task);
  COMMENSAL_TRY(reader.finish());
  return task;
}

core::Bytes encode(const Assignment& assignment) {
  Writer writer;
  writer.u8(kVersion);
  writer.field("receipt", assignment.receipt);
  writer.text(assignment.model);
  writer.u32(assignment.version);
  writer.field("content", assignment.content);
  write_task(writer, assignment.task);
  return std::move(writer).take();
}

Result<Assignment> decode_assignment(core::ByteView bytes) {
  Reader reader(bytes, "assignment");
  Assignment assignment;
  read_version(reader);
  reader.field("receipt", assignment.receipt);
  assignment.model = reader.text();
  assignment.version = reader.u32();
  reader.field("content", assignment.content);
  read_task(reader, assignment.task);
  COMMENSAL_TRY(reader.finish());
  return assignment;
}

core::Bytes encode(const RolloutRecord& record) {
  Writer writer;
  writer.u8(kVersion);
  writer.field("job", record.job);
  writer.field("input_salt", record.input_salt);
  receipt::write_tensors(writer, record.inputs);
  return std::move(writer).take();
}

Result<RolloutRecord> decode_rollout_record(core::ByteView bytes) {
  Reader reader(bytes, "rollout");
  RolloutRecord record;
  read_version(reader);
  reader.field("job", record.job);
  reader.field("input_salt", record.input_salt);
  record.inputs = receipt::read_tensors(reader);
  COMMENSAL_TRY(reader.finish());
  return record;
}

core::Bytes encode(const StepRecord& record) {
  Writer writer;
  writer.u8(kVersion);
  writer.field("step", record.step);
  writer.field("phase", record.phase);
  writer.field("value", record.value);
  write_signed(writer, record.body);
  writer.field("output_salt", record.output_salt);
  receipt::write_tensors(writer, record.outputs);
  return std::move(writer).take();
}

Result<StepRecord> decode_step_record(core::ByteView bytes) {
  Reader reader(bytes, "step");
  StepRecord record;
  read_version(reader);
  reader.field("step", record.step);
  reader.field("phase", record.phase);
  reader.field("value", record.value);
  read_signed(reader, record.body);
  reader.field("output_salt", record.output_salt);
  record.outputs = receipt::read_tensors(reader);
  COMMENSAL_TRY(reader.finish());
  return record;
}

namespace {

core::Bytes number_bytes(std::uint64_t number) {
  Writer writer;
  writer.u64(number);
  return std::move(writer).take();
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

Result<std::vector<core::Digest>> rollouts_by_age(core::Store& store) {
  std::vector<core::Digest> rollouts;
  COMMENSAL_TRY(scan_ages(store, [&](core::ByteView, core::ByteView value) {
    std::copy(value.begin(), value.end(), rollouts.emplace_back().begin());
    return true;
  }));
  std::reverse(rollouts.begin(), rollouts.end());
  return rollouts;
}

Result<void> RolloutRows::put(const RolloutRecord& record) {
  const core::Bytes id(job_id_.begin(), job_id_.end());
  COMMENSAL_ASSIGN(const std::uint64_t newest, newest_number(store_));
  return store_.apply({{std::string(kJobs), id, encode(record)},
                       {std::string(kAge), number_bytes(~(newest + 1)), id},
                       {std::string(kNumber), id, number_bytes(newest + 1)}});
}

Result<void> RolloutRows::erase(core::Store::Batch more) {
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

Result<void> RolloutRows::put(const StepRecord& record) {
  Writer last;
  last.u64(record.step);
  return store_.apply(
      {{std::string(kSteps), step_key(job_id_, record.step), encode(record)},
       {std::string(kLast), {job_id_.begin(), job_id_.end()}, std::move(last).take()}});
}

Result<bool> RolloutRows::is_there() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kJobs, job_id_));
  return row.has_value();
}

Result<RolloutRecord> RolloutRows::rollout() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kJobs, job_id_));
  if (!row) return fail(ErrorCode::kNotFound, "unknown rollout {}", core::to_hex(job_id_));
  return undamaged(decode_rollout_record(*row));
}

Result<StepRecord> RolloutRows::step(std::uint64_t step) {
  COMMENSAL_ASSIGN(const auto row, store_.get(kSteps, step_key(job_id_, step)));
  if (!row) {
    return fail(ErrorCode::kNotFound, "step {} of rollout {} has not been made", step,
                core::to_hex(job_id_));
  }
  return undamaged(decode_step_record(*row));
}

Result<std::uint64_t> RolloutRows::last() {
  COMMENSAL_ASSIGN(const auto row, store_.get(kLast, job_id_));
  if (!row) return 0;
  Reader reader(*row, "last step");
  const std::uint64_t step = reader.u64();
  COMMENSAL_TRY(undamaged(reader.finish()));
  return step;
}

}  // namespace commensal::rollout
