// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/train/step.hpp>

namespace commensal::train {

/// A model whose only output is its loss, `name`; behind its own inputs, the target.
struct WithLoss {
  graph::Graph graph;
  std::string name;
  std::vector<tensor::TensorType> inputs;
  graph::ValueId output = graph::kAbsent;  // of which the loss is
  std::int64_t classes = 0;                // of LossKind::kCrossEntropy: that it has scores of
};

/// Error: kInvalidArgument (the model has no such output; it says which it has).
core::Result<graph::ValueId> output_named(const graph::Graph& model, const std::string& name);

/// `target` is not looked at for LossKind::kValue, whose graph is the model's own.
/// Errors: kInvalidArgument (no such output, a target that does not fit), kUnsupported (an output
/// whose type is not known).
/// Thread-safety: any thread.
core::Result<WithLoss> with_loss(const graph::Graph& model,
                                 const std::vector<tensor::TensorType>& inputs,
                                 const tensor::TensorType& target, const Loss& loss);

}  // namespace commensal::train
