// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/train/testing/step_graphs.hpp>

namespace commensal::train::testing {

using graph::ValueId;
using kernels::Attributes;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace {

using Dims = std::vector<std::int64_t>;

Attributes with(std::initializer_list<Attributes::Named> all) {
  Attributes made;
  for (const auto& [name, value] : all) made.set(name, value);
  return made;
}

/// A model that is written down node by node, its weights drawn from fixed streams.
class Writer {
 public:
  ValueId value(const std::string& name) {
    graph_.values.push_back({name, {}});
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }
  ValueId input(const std::string& name, const Dims& dims, DType dtype) {
    const ValueId id = value(name);
    auto& declared = graph_.values.back().declared;
    declared = {dtype, true, dims, std::vector<std::string>(dims.size())};
    graph_.inputs.push_back(id);
    return id;
  }
  Tensor drawn(const Dims& dims, float scale, float middle = 0) {
    const Shape shape = *Shape::of(dims);
    std::vector<float> values;
    ++stream_;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      values.push_back(
          middle + scale * core::counter_symmetric_f32(11, stream_, static_cast<std::uint64_t>(i)));
    }
    return Tensor::of<float>(shape, values);
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = value(fmt::format("constant_{}", graph_.values.size()));
    graph_.initialisers.emplace(id, std::move(tensor));
    return id;
  }
  ValueId list(const Dims& values) {
    return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId weight(const std::string& name, const Dims& dims, float scale, float middle = 0) {
    const ValueId id = value(name);
    graph_.initialisers.emplace(id, drawn(dims, scale, middle));
    weights_.push_back(name);
    return id;
  }
  std::vector<ValueId> ops(std::string_view op, const std::vector<ValueId>& inputs,
                           Attributes attributes, int outputs) {
    graph::Node node;
    const auto found = kernels::find_operator("", op, 20);
    core::check(found.has_value(), "a test names an operator of the table");
    node.op = *found;
    node.opset = 20;
    node.name = fmt::format("{}_{}", op, graph_.nodes.size());
    node.attributes = std::move(attributes);
    node.inputs = inputs;
    for (int i = 0; i < outputs; ++i)
      node.outputs.push_back(value(fmt::format("value_{}", graph_.values.size())));
    graph_.nodes.push_back(node);
    return node.outputs;
  }
  ValueId op(std::string_view name, const std::vector<ValueId>& inputs,
             Attributes attributes = {}) {
    return ops(name, inputs, std::move(attributes), 1)[0];
  }
  ValueId shaped(ValueId x, const Dims& dims) { return op("Reshape", {x, list(dims)}); }
  ValueId turned(ValueId x, const Dims& order) {
    return op("Transpose", {x}, with({{"perm", order}}));
  }

  /// The step, for classes of these scores.
  StepGraph finish(const std::string& name, ValueId scores, Tensor batch, Tensor target) {
    graph_.values[static_cast<std::size_t>(scores)].name = "scores";
    graph_.outputs = {scores};
    StepRequest request;
    request.inputs = {batch.type()};
    request.target = target.type();
    request.loss.output = "scores";
    request.weights = weights_;
    request.optimiser.decay = 0.01;
    request.optimiser.clip = 1;
    const auto step = make_step(graph_, request);
    core::check(step.has_value(), "a test's network has gradients");
    StepGraph made{name, step->graph, {std::move(batch), std::move(target)}, 0};
    made.forward = graph_.nodes.size() + 1;
    for (const Step::Entry& entry : step->state) {
      const auto dims = entry.type.shape.dims();
      const Dims all(dims.begin(), dims.end());
      if (entry.name == "commensal.steps") {
        made.inputs.push_back(Tensor::of<float>({}, std::vector<float>{3}));
      } else if (entry.name.starts_with("commensal.v.")) {
        made.inputs.push_back(drawn(all, 0.01f, 0.02f));
      } else if (entry.name.starts_with("commensal.m.")) {
        made.inputs.push_back(drawn(all, 0.01f));
      } else {
        made.inputs.push_back(initialiser(entry.name));
      }
    }
    return made;
  }

 private:
  Tensor initialiser(const std::string& name) const {
    for (const auto& [id, tensor] : graph_.initialisers) {
      if (graph_.name_of(id) == name) return tensor;
    }
    return {};
  }

  graph::Graph graph_;
  std::vector<std::string> weights_;
  std::uint64_t stream_ = 0;
};

}  // namespace

StepGraph step_of_pictures() {
  Writer w;
  const ValueId x = w.input("x", {2, 2, 6, 6}, DType::kFloat32);
  const auto same = with({{"pads", Dims{1, 1, 1, 1}}});
  const ValueId first =
      w.op("Conv", {x, w.weight("conv1", {4, 2, 3, 3}, 0.4f), w.weight("bias1", {4}, 0.1f)}, same);
  const ValueId normal = w.op("BatchNormalization",
                              {first, w.weight("scale", {4}, 0.2f, 1), w.weight("shift", {4}, 0.2f),
                               w.constant(w.drawn({4}, 0.1f)), w.constant(w.drawn({4}, 0.2f, 1))});
  const ValueId bent = w.op("Relu", {normal});
  const ValueId second = w.op("Conv", {bent, w.weight("conv2", {4, 2, 3, 3}, 0.3f)},
                              with({{"pads", Dims{1, 1, 1, 1}}, {"group", std::int64_t{2}}}));
  const ValueId joined = w.op("Relu", {w.op("Add", {second, bent})});
  const ValueId pooled =
      w.op("MaxPool", {joined}, with({{"kernel_shape", Dims{2, 2}}, {"strides", Dims{2, 2}}}));
  const ValueId means = w.op("AveragePool", {pooled}, with({{"kernel_shape", Dims{2, 2}}}));
  const ValueId scores =
      w.op("Gemm",
           {w.op("Flatten", {means}), w.weight("out", {3, 16}, 0.3f), w.weight("bias2", {3}, 0.1f)},
           with({{"transB", std::int64_t{1}}}));
  Tensor batch = w.drawn({2, 2, 6, 6}, 1);
  return w.finish("pictures", scores, std::move(batch),
                  Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{2, 0}));
}

StepGraph step_of_texts() {
  constexpr std::int64_t kBatch = 2, kTokens = 4, kWidth = 8, kHeads = 2, kKinds = 11;
  constexpr std::int64_t kDepth = kWidth / kHeads;
  Writer w;
  const ValueId ids = w.input("ids", {kBatch, kTokens}, DType::kInt64);
  const ValueId table = w.weight("embedding", {kKinds, kWidth}, 0.5f);
  ValueId x =
      w.op("Add", {w.op("Gather", {table, ids}), w.weight("place", {kTokens, kWidth}, 0.2f)});
  const auto normal = [&](ValueId of, const std::string& name) {
    return w.op("LayerNormalization", {of, w.weight(name + ".scale", {kWidth}, 0.2f, 1),
                                       w.weight(name + ".bias", {kWidth}, 0.1f)});
  };
  const ValueId all =
      w.op("MatMul", {normal(x, "norm1"), w.weight("qkv", {kWidth, 3 * kWidth}, 0.3f)});
  const auto parts = w.ops("Split", {all},
                           with({{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{3}}}), 3);
  const auto heads = [&](ValueId part) {
    return w.turned(w.shaped(part, {kBatch, kTokens, kHeads, kDepth}), {0, 2, 1, 3});
  };
  const ValueId keys = w.turned(heads(parts[1]), {0, 1, 3, 2});
  std::vector<float> hidden;
  for (int i = 0; i < kTokens * kTokens; ++i)
    hidden.push_back(i % kTokens > i / kTokens ? -1e4f : 0);
  const ValueId mask = w.constant(Tensor::of<float>({kTokens, kTokens}, hidden));
  const ValueId half = w.constant(Tensor::of<float>({}, std::vector<float>{0.5f}));
  const ValueId likeness = w.op("Mul", {w.op("MatMul", {heads(parts[0]), keys}), half});
  const ValueId weights = w.op("Softmax", {w.op("Add", {likeness, mask})});
  const ValueId seen = w.turned(w.op("MatMul", {weights, heads(parts[2])}), {0, 2, 1, 3});
  x = w.op("Add", {x, w.op("MatMul", {w.shaped(seen, {kBatch, kTokens, kWidth}),
                                      w.weight("out", {kWidth, kWidth}, 0.3f)})});
  const ValueId up =
      w.op("Add", {w.op("MatMul", {normal(x, "norm2"), w.weight("up", {kWidth, 12}, 0.3f)}),
                   w.weight("up.bias", {12}, 0.1f)});
  x = w.op("Add", {x, w.op("MatMul", {w.op("Gelu", {up}), w.weight("down", {12, kWidth}, 0.3f)})});
  const ValueId scores = w.op("MatMul", {normal(x, "norm3"), w.turned(table, {1, 0})});
  return w.finish("texts", w.turned(scores, {0, 2, 1}),
                  Tensor::of<std::int64_t>({kBatch, kTokens},
                                           std::vector<std::int64_t>{1, 5, 5, 0, 10, 2, 1, 7}),
                  Tensor::of<std::int64_t>({kBatch, kTokens},
                                           std::vector<std::int64_t>{5, 5, 0, 3, 2, 1, 7, 9}));
}

}  // namespace commensal::train::testing
