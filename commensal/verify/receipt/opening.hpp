// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/receipt.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/compute/tensor/codec.hpp>

/// What opens the commitments of a step. A job of one step is a rollout of one: the same types, the
/// same checks. All are records (protocol::encode, protocol::decode).
namespace commensal::receipt {

/// All that an auditor is shown of a step: the openings of c_0 and c_(i-1), and the value that
/// seed_i is made of. Neither Y_i nor salt_i, so that it can answer only by computing.
struct StepTask {
  static constexpr std::string_view kRecord = "step task";

  protocol::Job job;
  std::uint64_t step = 1;
  core::Digest value{};  // v_i of the job's noise chain; zero without noise
  core::Digest input_salt{};
  tensor::NamedTensors inputs;  // these two open c_0
  // Of step i-1; nothing of it for step 1.
  std::optional<protocol::Receipt> before;
  core::Digest salt_before{};
  tensor::NamedTensors outputs_before;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("step", self.step);
    archive.field("value", self.value);
    archive.field("input_salt", self.input_salt);
    archive.field("inputs", self.inputs);
    archive.field("before", self.before);
    archive.field("salt_before", self.salt_before);
    archive.field("outputs_before", self.outputs_before);
  }
};

/// All that the commitments of a step hide, as its client keeps it: `output_salt` and `outputs`
/// open c_i, `task` what it was computed from. The file that goes with a receipt.
struct Opening {
  static constexpr std::string_view kRecord = "opening";

  StepTask task;
  core::Digest output_salt{};
  tensor::NamedTensors outputs;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("task", self.task);
    archive.field("output_salt", self.output_salt);
    archive.field("outputs", self.outputs);
  }
};

/// Of the tensors' elements.
std::uint64_t element_bytes(const tensor::NamedTensors& tensors);

/// Whether tensors that go into one row are small enough for it, with what goes beside them, before
/// anything is signed of them. Error: kResourceExhausted.
core::Result<void> fits(const tensor::NamedTensors& inputs, const tensor::NamedTensors& outputs,
                        std::uint64_t bytes_max);

/// What an auditor elsewhere is given: a task, and where the model's file is.
struct Assignment {
  static constexpr std::string_view kRecord = "assignment";

  protocol::Receipt receipt;  // as both have signed it
  std::string model;          // "owner/model"
  std::uint32_t version = 0;
  core::Digest content{};  // SHA-256 of the file
  /// Of a case that waits for auditors: answered by a Report in the ledger. None: an audit.
  std::optional<crypto::Address> accuser;
  /// Of such a case where it is about what an auditor has said of this receipt.
  std::optional<protocol::AuditReport> report;
  StepTask task;

  /// Of the case.
  core::Digest subject() const {
    return report ? protocol::report_id(*report) : protocol::receipt_id(receipt.body());
  }

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("model", self.model);
    archive.field("version", self.version);
    archive.field("content", self.content);
    archive.field("accuser", self.accuser);
    archive.field("report", self.report);
    archive.field("task", self.task);
  }
};

/// That the task, and the report where there is one, is about the receipt, and both have signed
/// that: an auditor answers for what it says of it. Errors: check_task()'s, kUnauthenticated,
/// kDataLoss.
core::Result<void> check_assignment(const Assignment& given);

/// That everything in the task is what both parties have agreed on: the inputs open c_0, the value
/// leads back to the job's anchor, both have signed c_(i-1), and what lies before opens it.
/// Errors: kInvalidArgument, kDataLoss (does not open), kUnauthenticated; the message names it.
core::Result<void> check_task(const StepTask& task);

/// Whether the opening opens exactly what was signed: check_task(), and the receipt's job id, step
/// and c_i. Errors: check_task()'s, kDataLoss, naming what does not open.
core::Result<void> check_opening(const Opening& opening, const protocol::ReceiptBody& body);

}  // namespace commensal::receipt
