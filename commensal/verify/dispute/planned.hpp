// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace commensal::dispute {

/// Runs another graph over the weights of a side's model: graph::Session::run_other.
using RunOther = std::function<core::Result<std::vector<tensor::Tensor>>(
    graph::Prepared& other, std::span<const tensor::Tensor> inputs)>;

/// The trace of a model by runs that are planned as those of answers are: the values at the
/// checkpoints are further outputs of one graph, all values of a segment are the outputs of
/// another. The bits are those of a run node by node (optimise.hpp), the packed weights those of
/// the session. Kept for one dispute after the other. Thread-safety: one thread.
class PlannedTrace {
 public:
  /// Null where only a run node by node has a trace, or knows why there is none: a session of
  /// ref/, nodes that do not run on tensors alone.
  static std::shared_ptr<PlannedTrace> of(const graph::Session& session);

  /// What a run leaves.
  struct Run {
    std::vector<tensor::Tensor> outputs;
    std::map<graph::ValueId, tensor::Tensor> values;  // all that outlive their segment
    std::shared_ptr<const graph::Program> program;    // has those that are constant
    std::int64_t bytes() const;                       // of the values
  };
  /// `inputs` in the graph's order. Nothing where the graph cannot be planned for them, or memory
  /// does not suffice for so many outputs. Errors: the other ones of `run_other`.
  core::Result<std::optional<Run>> run(const RunOther& run_other,
                                       const std::vector<tensor::Tensor>& inputs);
  /// `count` nodes from `first` on, by what is live before them; where `run` has lost its values it
  /// is made again. Nothing where memory does not suffice. Errors: the other ones of `run_other`.
  core::Result<std::optional<Segment>> segment(const RunOther& run_other,
                                               const std::vector<tensor::Tensor>& inputs, Run run,
                                               std::size_t first, std::size_t count);

 private:
  explicit PlannedTrace(const graph::Session& session);
  bool may_have_texts(const graph::Program& program) const;

  const std::shared_ptr<graph::Prepared> model_;
  std::vector<graph::ValueId> kept_;            // those that outlive their segment
  std::shared_ptr<graph::Prepared> with_kept_;  // the graph that puts them out too
  bool can_plan_ = true;
};

}  // namespace commensal::dispute
