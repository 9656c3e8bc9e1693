// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// How pixels become numbers: (value - mean) / scale.
struct ImageOptions {
  float mean = 0;
  float scale = 1;
};

/// Reads "[NAME=]FILE" for each input of the graph, in its order. FILE is .npy, .npz[:member]
/// (default: the input's name), .pb (TensorProto), .jpg, .jpeg or .png (resized to the declared
/// height and width). NAME= may be left out where the model has one input.
/// Errors: kInvalidArgument, naming the inputs that are expected; those of reading the files.
core::Result<std::vector<tensor::Tensor>> read_inputs(const graph::Graph& graph,
                                                      const std::vector<std::string>& given,
                                                      const ImageOptions& image);

}  // namespace commensal::apps
