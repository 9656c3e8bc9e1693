// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/check.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <memory>
#include <string>
#include <vector>

/// Graphs made in memory without a model file, for tests only.
namespace commensal::graph::testing {

class GraphMaker {
 public:
  /// A dimension of -1 is free.
  ValueId input(std::vector<std::int64_t> dims, tensor::DType dtype = tensor::DType::kFloat32) {
    const ValueId id = value("x");
    Declared& declared = graph_.values[static_cast<std::size_t>(id)].declared;
    declared.dtype = dtype;
    declared.ranked = true;
    declared.symbols.assign(dims.size(), "");
    declared.dims = std::move(dims);
    graph_.inputs.push_back(id);
    return id;
  }

  ValueId constant(tensor::Tensor tensor) {
    const ValueId id = value("c");
    graph_.initialisers.emplace(id, std::move(tensor));
    return id;
  }
  ValueId integers(const std::vector<std::int64_t>& values) {
    return constant(
        tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId floats(const tensor::Shape& shape, float each = 0.5f) {
    return constant(tensor::Tensor::of<float>(
        shape, std::vector<float>(static_cast<std::size_t>(shape.elements()), each)));
  }

  std::vector<ValueId> node_of(std::string_view op, std::vector<ValueId> inputs,
                               kernels::Attributes attributes = {}, int opset = 17,
                               int outputs = 1) {
    const auto found = kernels::find_operator("", op, opset);
    core::check(found.has_value(), "a test names an operator of the table");
    Node node;
    node.name = std::string(op) + "_" + std::to_string(graph_.nodes.size());
    node.op = *found;
    node.opset = opset;
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    for (int i = 0; i < outputs; ++i) node.outputs.push_back(value("v"));
    graph_.nodes.push_back(node);
    return node.outputs;
  }
  ValueId node(std::string_view op, std::vector<ValueId> inputs,
               kernels::Attributes attributes = {}, int opset = 17) {
    return node_of(op, std::move(inputs), std::move(attributes), opset)[0];
  }

  void output(ValueId id) { graph_.outputs.push_back(id); }

  Graph& graph() { return graph_; }
  std::shared_ptr<const Graph> finish() const { return std::make_shared<const Graph>(graph_); }

 private:
  ValueId value(const std::string& prefix) {
    graph_.values.push_back({prefix + std::to_string(graph_.values.size()), {}});
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }

  Graph graph_;
};

}  // namespace commensal::graph::testing
