// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/io/image.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// Reads "[NAME=]FILE" for each input of the graph, in its order. FILE is .npy, .npz[:member]
/// (default: the input's name), .pb (TensorProto), or a picture, .jpg, .jpeg, .png, .pgm or .ppm,
/// which `image` brings to the declared height and width. NAME= may be left out where the model has
/// one input; an .npz without it fills every input that nothing else names.
/// Errors: kInvalidArgument, naming the inputs that are expected (also for a batch of 0); those of
/// reading the files.
core::Result<std::vector<tensor::Tensor>> read_inputs(const graph::Graph& graph,
                                                      const std::vector<std::string>& given,
                                                      const io::PictureRule& image);

}  // namespace commensal::apps
