// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/spot/auditor.hpp>

namespace commensal::spot {

/// Checks the parts of a message against signed roots, one question after another.
/// Thread-safety: one thread.
class Answers {
 public:
  Answers(const AuditModel& model, const std::map<graph::ValueId, TensorFacts>& facts,
          const std::vector<arbiter::TraceLeaf>& list, const Terms& terms, Scratch& scratch)
      : model_(model), facts_(facts), list_(list), terms_(terms), scratch_(scratch) {}

  /// Takes its parts from `openings`, from part `next` on. Errors: kInvalidArgument and kDataLoss
  /// where they have not the length that was asked for or do not lead to the roots.
  core::Result<std::optional<Finding>> check(const Question& question, const Openings& openings,
                                             std::size_t& next);

 private:
  core::Result<void> fill(const tensor::Tensor& into, const TensorFacts& facts,
                          const LeafSet& leaves, const Openings& openings, std::size_t& next);
  core::Result<std::optional<Finding>> compare(const Question& question, const kernels::Call& call,
                                               const tensor::Tensor& output);
  core::Result<std::optional<Finding>> run_whole(const Question& question,
                                                 const kernels::Call& call);

  const AuditModel& model_;
  const std::map<graph::ValueId, TensorFacts>& facts_;
  const std::vector<arbiter::TraceLeaf>& list_;
  const Terms& terms_;
  Scratch& scratch_;
};

}  // namespace commensal::spot
