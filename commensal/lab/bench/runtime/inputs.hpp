// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/lab/bench/runtime/runner.hpp>
#include <map>

namespace commensal::lab::bench {

/// Whether a batch can be chosen: an input's first dimension is free.
bool has_free_batch(const graph::Graph& graph);

/// Inputs' dimensions by name.
using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// An input of `batch` samples for each of the graph's, as tests/peer/agree.py draws them: input k
/// from stream k of seed 7, as u in [-1, 1); whole numbers and bools are 1 where u < 0, else 0.
/// What is fixed stays, a free first dimension is the batch; others are as `shapes` has them,
/// else 1. Errors: kUnsupported (strings, formats below 8 bits), kInvalidArgument (a shape of no
/// input, or of another rank or other fixed dimensions).
core::Result<std::vector<tensor::Tensor>> draw_inputs(const graph::Graph& graph, std::int64_t batch,
                                                      const Shapes& shapes = {});

/// Inputs that have free dimensions but the first, which nobody gave: "x 1,3,1,1, y 1,1".
std::string guessed_shapes(const graph::Graph& graph, std::int64_t batch, const Shapes& shapes);

/// Writes them into files. Errors besides: those of files.
core::Result<std::vector<InputFile>> write_inputs(const graph::Graph& graph, std::int64_t batch,
                                                  const core::Path& folder,
                                                  const Shapes& shapes = {});
core::Result<InputFile> write_input(const core::Path& path, const std::string& name,
                                    const tensor::Tensor& value);

/// One of those files. Errors: those of files, kInvalidArgument (its length, its type).
core::Result<tensor::Tensor> read_input(const InputFile& file);

/// `value` in that format, little-endian; false for one that is not of whole bytes.
bool append_element(core::Bytes& bytes, tensor::DType dtype, double value);

}  // namespace commensal::lab::bench
