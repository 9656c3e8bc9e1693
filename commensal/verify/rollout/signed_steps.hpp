// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <commensal/verify/rollout/record.hpp>
#include <optional>

namespace commensal::rollout {

/// The steps of one job as a gateway hands them out: believed as far as both parties have signed
/// them. Thread-safety: none.
class SignedSteps {
 public:
  /// `inputs`: those that the rollout was asked for with; none: those of the record. Errors:
  /// kFailedPrecondition, kInvalidArgument (a job of another model, provider or inputs), kDataLoss.
  static core::Result<SignedSteps> open(const JobRecord& record, const crypto::Address& provider,
                                        const graph::Graph& graph, const receipt::ModelRoots& roots,
                                        const std::optional<tensor::NamedTensors>& inputs);

  /// The same for who does not have the model's file.
  static core::Result<SignedSteps> open(const JobRecord& record, const crypto::Address& provider,
                                        const tensor::NamedTensors& inputs);

  /// What was delivered in a step. Errors: kUnauthenticated (a signature), kDataLoss (another job
  /// or step, outputs that do not open what was signed).
  core::Result<tensor::NamedTensors> outputs(const StepRecord& record, std::uint64_t step) const;

 private:
  explicit SignedSteps(const core::Digest& job) : job_(job) {}

  core::Digest job_{};
};

}  // namespace commensal::rollout
