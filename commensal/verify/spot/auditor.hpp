// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/verify/spot/messages.hpp>
#include <string>

namespace commensal::spot {

/// What an audit found wrong: each can be computed again by anyone from the signed roots, the
/// openings and the model.
enum class Fault : std::uint8_t {
  kOutput,   // the last roots are not those of what was committed to
  kType,     // a node's outputs have another type than follows from its inputs
  kElement,  // an element is not what its operator makes of the inputs
  kWhole,    // an operator's outputs are not (after a vector, or in full)
};
std::span<const std::string_view> enum_names(Fault);

struct Finding {
  Fault fault = Fault::kElement;
  std::size_t node = 0, output = 0;
  std::int64_t element = 0;
  std::uint64_t claimed = 0, computed = 0;  // bits of the element
};

/// What an auditor knows of the step.
struct AuditSetup {
  std::shared_ptr<const AuditModel> model;  // graph and weights are the job's (checked)
  std::shared_ptr<const Survey> survey;     // for the inputs' types
  protocol::Job job;
  protocol::ReceiptBody body;
  Digest input_salt{};
  /// Of a link of a chain: the root of its state with its noise. None: the inputs open c_0.
  std::optional<Digest> input_root = std::nullopt;
  /// None: whoever has it compares output_root() with the commitment.
  std::optional<Digest> output_salt = std::nullopt;
  std::uint64_t round = 0;  // that draws; not over yet
  Terms terms;
  std::int64_t wait_ms_max = 60'000;  // of each answer
};

/// Memory that checks use again and again. Thread-safety: one thread.
class Scratch {
 public:
  /// A tensor whose elements are whatever was there before. Error: kResourceExhausted.
  core::Result<tensor::Tensor> tensor(std::size_t slot, const tensor::TensorType& type);
  static std::span<std::uint8_t> writable(const tensor::Tensor& tensor);

 private:
  struct Block {
    std::shared_ptr<std::uint8_t> bytes;
    std::size_t size = 0;
  };
  std::vector<Block> blocks_;
};

/// The auditor's side of a sublinear audit.
///
///   asked --roots--> rooted --beacon--> drawn --openings--> done
///
/// A message that is malformed, out of order, twice, or does not prove what it shows is refused by
/// name and changes nothing; who does not answer in time is silent, which is for the caller to
/// judge. An honest provider is never found wrong. What is found wrong is a reason to replay in
/// full, and to open a dispute. Source: docs/verification.md, "Sublinear audit".
/// Thread-safety: one thread.
class Audit {
 public:
  enum class Phase : std::uint8_t { kAsked, kRooted, kDrawn, kDone, kSilent };

  /// Errors: kFailedPrecondition (the model or the survey is not the job's), kResourceExhausted.
  static core::Result<Audit> open(AuditSetup setup, const core::Clock& clock, Scratch& scratch);

  Bytes request() const;
  /// `latest_round` is the last round of the beacon that is over: roots that come after the one
  /// that draws are refused.
  core::Result<void> roots(ByteView message, std::uint64_t latest_round);
  core::Result<void> beacon(std::uint64_t round, const Digest& value);
  core::Result<void> openings(ByteView message);
  /// Silence, if the deadline is over.
  void check_time();

  Phase phase() const { return phase_; }
  /// In kDone: what is wrong, or nothing.
  const std::optional<Finding>& finding() const { return finding_; }
  const std::vector<Question>& questions() const { return questions_; }  // from kDrawn on
  /// State root of the outputs, as the provider has signed it. From kRooted on.
  const Digest& output_root() const { return output_root_; }

 private:
  Audit(AuditSetup setup, const core::Clock& clock, Scratch& scratch);
  core::Result<void> expect(Phase phase, std::string_view move) const;
  void go_to(Phase phase);

  AuditSetup setup_;
  const core::Clock* clock_;
  Scratch* scratch_;
  Phase phase_ = Phase::kAsked;
  std::int64_t deadline_ns_ = 0;
  std::map<graph::ValueId, TensorFacts> facts_;
  std::vector<arbiter::TraceLeaf> list_;
  Digest output_root_{}, list_root_{};
  std::vector<Question> questions_;
  std::optional<Finding> finding_;
};
std::span<const std::string_view> enum_names(Audit::Phase);

}  // namespace commensal::spot
