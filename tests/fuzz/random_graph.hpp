// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <memory>
#include <tests/fuzz/fuzz.hpp>
#include <vector>

namespace commensal::fuzz {

/// A graph of a few nodes out of any bytes: calls of the operators' samples, bent in attributes,
/// opsets, types, shapes and values, and fed to each other. It keeps what the importer promises
/// (ir.hpp) and nothing more, so that all that is wrong is infer's to find.
struct RandomGraph {
  std::shared_ptr<const graph::Graph> graph;
  std::vector<tensor::Tensor> inputs;
};
RandomGraph random_graph(Choices& choices);

}  // namespace commensal::fuzz
