// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <commensal/compute/train/step.hpp>
#include <string>
#include <vector>

/// Steps of training small networks, as graphs with inputs for them: for who checks runs of graphs.
namespace commensal::train::testing {

struct StepGraph {
  std::string name;
  std::shared_ptr<const graph::Graph> graph;  // forward, backward, AdamW
  std::vector<tensor::Tensor> inputs;         // a batch, then a state somewhere along the way
  std::size_t forward = 0;                    // how many nodes the model and its loss have
};

/// Conv, BatchNormalization, pools, a residual, Gemm; float32.
StepGraph step_of_pictures();
/// An embedding, LayerNormalization, attention by its parts, GELU; float32.
StepGraph step_of_texts();

}  // namespace commensal::train::testing
