// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/lab/bench/runtime/runner.hpp>
#include <optional>

namespace commensal::lab::bench {

/// An input of `batch` samples for each of the graph's, as tests/peer/agree.py draws them: input k
/// from stream k of seed 7, as u in [-1, 1); an int64 is 1 where u < 0, else 0. Free dimensions but
/// the first are 1. None where the model fixes another batch.
/// Error: kUnsupported (another element type).
core::Result<std::optional<std::vector<tensor::Tensor>>> draw_inputs(const graph::Graph& graph,
                                                                     std::int64_t batch);

/// Writes them into files. Errors besides: those of files.
core::Result<std::optional<std::vector<InputFile>>> write_inputs(const graph::Graph& graph,
                                                                 std::int64_t batch,
                                                                 const core::Path& folder);

/// One of those files. Errors: those of files, kInvalidArgument (its length).
core::Result<tensor::Tensor> read_input(const InputFile& file);

}  // namespace commensal::lab::bench
