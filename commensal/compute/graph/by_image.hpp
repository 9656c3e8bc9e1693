// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/program.hpp>
#include <span>

namespace commensal::graph {

/// Runs `body`, a graph for one image, for every image of a batch: what an operator leaves for the
/// next one is still in the cache. As many images at a time as there are threads, each on one of
/// them; the last few, if they are fewer, one after the other on all. With a tracer all go one
/// after the other.
/// `inputs` are tensors of as many images each, `types` what the outputs are for all of them.
/// Errors: kResourceExhausted, and the body's.
core::Result<std::vector<tensor::Value>> run_by_image(const Program& body,
                                                      std::span<const tensor::Value* const> inputs,
                                                      std::span<const tensor::TensorType> types,
                                                      const Machine& machine);

}  // namespace commensal::graph
