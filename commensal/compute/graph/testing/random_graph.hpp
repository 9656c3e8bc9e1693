// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/testing/random_layers.hpp>

/// Random graphs over the operator table, for property tests: shared subexpressions, constants,
/// several outputs, special values, empty dimensions.
namespace commensal::graph::testing {

/// What bounds a graph's size.
inline constexpr std::int64_t kRandomElementsMax = 6000;

class RandomGraph {
 public:
  /// `rows_apart`: only such nodes as leave the rows of a batch apart (batching.hpp); every input
  /// has then one row, and its first dimension is free.
  RandomGraph(std::uint64_t seed, bool rows_apart) : draw_(seed, 77), rows_apart_(rows_apart) {
    for (std::int64_t i = draw_.number(1, rows_apart ? 2 : 3); i > 0; --i) add_input();
    const std::int64_t nodes = draw_.number(5, 50);
    for (int tries = 0; tries < 60 * nodes && node_count() < nodes; ++tries) try_node();
    choose_outputs();
  }

  const Graph& graph() { return maker_.graph(); }
  std::shared_ptr<const Graph> finish() const { return maker_.finish(); }
  std::int64_t node_count() { return static_cast<std::int64_t>(maker_.graph().nodes.size()); }
  /// What the inputs were while the graph grew, and what ref/ made of them then.
  std::vector<tensor::Tensor> inputs() { return values_of(maker_.graph().inputs); }
  std::vector<tensor::Tensor> expected() { return values_of(maker_.graph().outputs); }

  /// Other elements for the inputs, with `rows` rows.
  std::vector<tensor::Tensor> other_inputs(std::uint64_t seed, std::int64_t rows) {
    kernels::testing::Draw draw(seed, 78);
    std::vector<tensor::Tensor> made;
    for (const tensor::Tensor& input : inputs()) {
      auto dims = kernels::testing::dims_of(input);
      dims[0] = rows;
      const kernels::testing::Blend blend = kernels::testing::random_blend(draw);
      made.push_back(kernels::testing::random_of(draw, input.dtype(),
                                                 kernels::testing::shape_of(dims), blend));
    }
    return made;
  }

 private:
  std::vector<tensor::Tensor> values_of(const std::vector<ValueId>& ids) {
    std::vector<tensor::Tensor> made;
    for (const ValueId id : ids) made.push_back(tensors_[static_cast<std::size_t>(id)]);
    return made;
  }

  void remember(ValueId id, tensor::Tensor tensor) {
    tensors_.resize(std::max(tensors_.size(), static_cast<std::size_t>(id) + 1));
    tensors_[static_cast<std::size_t>(id)] = std::move(tensor);
  }

  void add_input() {
    using tensor::DType;
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat32,
                                DType::kInt64,   DType::kInt32,   DType::kFloat16, DType::kUint8};
    const tensor::Shape shape = kernels::testing::random_shape(
        draw_, static_cast<int>(draw_.number(1, 4)), draw_.one_in(4) ? 3000 : 200);
    auto dims = std::vector(shape.dims().begin(), shape.dims().end());
    if (rows_apart_) dims.insert(dims.begin(), 1);
    const DType dtype = draw_.of(kTypes);
    const kernels::testing::Blend blend = kernels::testing::random_blend(draw_);
    tensor::Tensor value =
        kernels::testing::random_of(draw_, dtype, kernels::testing::shape_of(dims), blend);
    if (rows_apart_) dims[0] = -1;
    const ValueId id = maker_.input(dims, dtype);
    candidates_.push_back(id);
    remember(id, std::move(value));
  }

  // An input of a drawn call: x itself, a value of the graph that has the same type, or a constant.
  ValueId id_of(const tensor::Tensor& wanted, ValueId x) {
    if (!wanted.defined()) return kAbsent;
    if (wanted.bytes().data() == tensors_[static_cast<std::size_t>(x)].bytes().data()) return x;
    if (draw_.one_in(2)) {
      for (const ValueId id : candidates_) {
        if (tensors_[static_cast<std::size_t>(id)].type() == wanted.type() && draw_.one_in(2)) {
          return id;
        }
      }
    }
    const ValueId made = maker_.constant(wanted);
    remember(made, wanted);
    return made;
  }

  // Adds a node if it turns out to be valid; else leaves the graph as it was.
  void try_node() {
    const std::int64_t count = static_cast<std::int64_t>(candidates_.size());
    const std::int64_t from = draw_.one_in(3) ? 0 : std::max<std::int64_t>(count - 5, 0);
    const ValueId x = candidates_[static_cast<std::size_t>(draw_.number(from, count - 1))];
    const auto sample =
        draw_.of(kernels::testing::kRecipes).make(draw_, tensors_[static_cast<std::size_t>(x)]);
    if (!sample) return;
    const Graph before = maker_.graph();
    std::vector<ValueId> ids;
    for (const tensor::Tensor& input : sample->inputs) ids.push_back(id_of(input, x));
    const auto outputs =
        maker_.node_of(sample->name, ids, sample->attributes, sample->opset, sample->outputs);
    if (run_last(ids, outputs) && (!rows_apart_ || keeps_rows_apart(outputs))) {
      candidates_.insert(candidates_.end(), outputs.begin(), outputs.end());
    } else {
      maker_.graph() = before;
      tensors_.resize(before.values.size());
    }
  }

  bool run_last(const std::vector<ValueId>& ids, const std::vector<ValueId>& outputs) {
    const Node& node = maker_.graph().nodes.back();
    std::vector<const tensor::Tensor*> inputs;
    for (const ValueId id : ids) {
      inputs.push_back(id == kAbsent ? nullptr : &tensors_[static_cast<std::size_t>(id)]);
    }
    kernels::Call call;
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = inputs;
    call.output_count = static_cast<int>(outputs.size());
    auto types = node.op->judge->infer(call);
    if (!types) return false;
    call.outputs = *std::move(types);
    std::vector<tensor::Tensor> made;
    for (const tensor::TensorType& type : call.outputs) {
      const bool known = type.dtype != tensor::DType::kUndefined;
      if (!known || type.shape.elements() > kRandomElementsMax) return false;
      made.push_back(*tensor::Tensor::allocate(arena_, type));
    }
    kernels::Workspace workspace{arena_, one_};
    if (!node.op->judge->run(call, made, workspace)) return false;
    for (std::size_t o = 0; o < outputs.size(); ++o) remember(outputs[o], std::move(made[o]));
    return true;
  }

  bool keeps_rows_apart(const std::vector<ValueId>& outputs) {
    Graph& graph = maker_.graph();
    std::vector<tensor::TensorType> request;
    for (const tensor::Tensor& input : inputs()) request.push_back(input.type());
    graph.outputs = outputs;
    const bool good = batching_objection(graph, request).empty();
    graph.outputs.clear();
    return good;
  }

  // What nobody reads, and some of what somebody does.
  void choose_outputs() {
    const Graph& graph = maker_.graph();
    std::vector<bool> read(graph.values.size());
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.inputs) {
        if (id != kAbsent) read[static_cast<std::size_t>(id)] = true;
      }
    }
    for (const ValueId id : candidates_) {
      if (!read[static_cast<std::size_t>(id)] || draw_.one_in(8)) maker_.output(id);
    }
  }

  kernels::testing::Draw draw_;
  bool rows_apart_;
  GraphMaker maker_;
  tensor::Arena arena_{std::int64_t{1} << 32};
  kernels::ThreadPool one_{1};
  std::vector<tensor::Tensor> tensors_;  // by value
  std::vector<ValueId> candidates_;      // inputs and outputs of nodes
};

}  // namespace commensal::graph::testing
