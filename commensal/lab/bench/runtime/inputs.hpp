// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/lab/bench/runtime/runner.hpp>

namespace commensal::lab::bench {

/// Whether a batch can be chosen: an input's first dimension is free.
bool has_free_batch(const graph::Graph& graph);

/// An input of `batch` samples for each of the graph's, as tests/peer/agree.py draws them: input k
/// from stream k of seed 7, as u in [-1, 1); whole numbers and bools are 1 where u < 0, else 0.
/// Free dimensions but the first are 1; what is fixed stays.
/// Error: kUnsupported (strings, formats below 8 bits).
core::Result<std::vector<tensor::Tensor>> draw_inputs(const graph::Graph& graph,
                                                      std::int64_t batch);

/// Writes them into files. Errors besides: those of files.
core::Result<std::vector<InputFile>> write_inputs(const graph::Graph& graph, std::int64_t batch,
                                                  const core::Path& folder);
core::Result<InputFile> write_input(const core::Path& path, const std::string& name,
                                    const tensor::Tensor& value);

/// One of those files. Errors: those of files, kInvalidArgument (its length, its type).
core::Result<tensor::Tensor> read_input(const InputFile& file);

/// `value` in that format, little-endian; false for one that is not of whole bytes.
bool append_element(core::Bytes& bytes, tensor::DType dtype, double value);

}  // namespace commensal::lab::bench
