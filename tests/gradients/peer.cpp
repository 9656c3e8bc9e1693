// SPDX-License-Identifier: Apache-2.0
// Writes small networks' inputs, weights, loss and gradients as .npy into a folder, for peer.py: in
// binary64, where LayerNormalization and SoftmaxCrossEntropyLoss, which ONNX's judge has in
// binary32 only, are spelled out; and the GPT once more in binary32, with these two.
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/grad/differentiate.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/io/npy.hpp>
#include <cstdio>

namespace commensal {
namespace {

using graph::ValueId;
using kernels::Attributes;
using tensor::DType;
using tensor::Tensor;
using Dims = std::vector<std::int64_t>;

Attributes with(std::initializer_list<Attributes::Named> all) {
  Attributes made;
  for (const auto& [name, value] : all) made.set(name, value);
  return made;
}

class Network {
 public:
  Network(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  bool is_wide() const { return dtype_ == DType::kFloat64; }

  ValueId value() {
    graph_.values.push_back({fmt::format("v{}", graph_.values.size()), {}});
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = value();
    graph_.initialisers.emplace(id, std::move(tensor));
    return id;
  }
  ValueId list(const Dims& values) {
    return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  Tensor floats(const tensor::Shape& shape, const std::vector<double>& values) const {
    if (is_wide()) return Tensor::of<double>(shape, values);
    return Tensor::of<float>(shape, std::vector<float>(values.begin(), values.end()));
  }
  ValueId number(double value) { return constant(floats({}, {value})); }
  Tensor drawn(const Dims& dims, double scale, double middle = 0) {
    const tensor::Shape shape = *tensor::Shape::of(dims);
    std::vector<double> values;
    ++stream_;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const float u = core::counter_symmetric_f32(7, stream_, static_cast<std::uint64_t>(i));
      values.push_back(middle + scale * static_cast<double>(u));
    }
    return floats(shape, values);
  }
  ValueId weight(const Dims& dims, double scale, double middle = 0) {
    weights_.push_back(constant(drawn(dims, scale, middle)));
    return weights_.back();
  }
  ValueId input(Tensor tensor) {
    const ValueId id = value();
    const auto dims = tensor.shape().dims();
    graph_.values.back().declared = {
        tensor.dtype(), true, {dims.begin(), dims.end()}, std::vector<std::string>(dims.size())};
    graph_.inputs.push_back(id);
    inputs_.push_back(std::move(tensor));
    return id;
  }
  std::vector<ValueId> ops(std::string_view op, const std::vector<ValueId>& inputs,
                           Attributes attributes, int outputs) {
    graph::Node node;
    node.op = *kernels::find_operator("", op, 20);
    node.opset = 20;
    node.name = fmt::format("{}_{}", op, graph_.nodes.size());
    node.attributes = std::move(attributes);
    node.inputs = inputs;
    for (int i = 0; i < outputs; ++i) node.outputs.push_back(value());
    graph_.nodes.push_back(node);
    return node.outputs;
  }
  ValueId op(std::string_view name, const std::vector<ValueId>& inputs,
             Attributes attributes = {}) {
    return ops(name, inputs, std::move(attributes), 1)[0];
  }
  ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
  ValueId shaped(ValueId x, const Dims& dims) { return op("Reshape", {x, list(dims)}); }
  ValueId turned(ValueId x, const Dims& order) {
    return op("Transpose", {x}, with({{"perm", order}}));
  }
  ValueId mean(ValueId x, const Dims& axes) { return op("ReduceMean", {x, list(axes)}); }
  ValueId normal(ValueId x, const Dims& axes) {
    const ValueId off = op("Sub", {x, mean(x, axes)});
    const ValueId variance = mean(mul(off, off), axes);
    return op("Div", {off, op("Sqrt", {add(variance, number(1e-5))})});
  }
  /// Of the last dimension.
  ValueId layer_norm(ValueId x, ValueId scale, ValueId bias) {
    if (!is_wide()) return op("LayerNormalization", {x, scale, bias});
    return add(mul(normal(x, {-1}), scale), bias);
  }
  /// Of scores [N, C] and classes: the mean.
  ValueId cross_entropy(ValueId scores, ValueId classes, std::int64_t count) {
    if (!is_wide()) return op("SoftmaxCrossEntropyLoss", {scores, shaped(classes, {count})});
    const ValueId at =
        op("GatherElements", {op("LogSoftmax", {scores}), shaped(classes, {count, 1})},
           with({{"axis", std::int64_t{1}}}));
    return op("Neg", {op("ReduceMean", {at}, with({{"keepdims", std::int64_t{0}}}))});
  }

  core::Result<void> write(const core::Path& folder, ValueId loss) {
    graph_.outputs = {loss};
    grad::Wanted wanted;
    wanted.loss = graph_.name_of(loss);
    std::vector<Tensor> given = inputs_;
    for (const Tensor& tensor : inputs_) wanted.inputs.push_back(tensor.type());
    for (const ValueId id : weights_) {
      wanted.weights.push_back(graph_.name_of(id));
      given.push_back(graph_.initialisers.at(id));
    }
    COMMENSAL_ASSIGN(const auto made, grad::with_gradients(graph_, wanted));
    COMMENSAL_ASSIGN(auto session, graph::Session::create(made, {}));
    COMMENSAL_ASSIGN(const auto outputs, session.run(given));
    const auto write_one = [&](const std::string& what,
                               const Tensor& tensor) -> core::Result<void> {
      COMMENSAL_ASSIGN(const core::Bytes bytes, io::write_npy(tensor));
      return core::write_file_atomically(folder / fmt::format("{}_{}.npy", name_, what), bytes);
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      COMMENSAL_TRY(write_one(fmt::format("input{}", i), inputs_[i]));
    COMMENSAL_TRY(write_one("loss", outputs[0]));
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      COMMENSAL_TRY(write_one(fmt::format("weight{}", i), graph_.initialisers.at(weights_[i])));
      COMMENSAL_TRY(write_one(fmt::format("gradient{}", i), outputs[i + 1]));
    }
    return {};
  }

 private:
  const std::string name_;
  const DType dtype_;
  graph::Graph graph_;
  std::vector<ValueId> weights_;
  std::vector<Tensor> inputs_;
  std::uint64_t stream_ = 0;
};

core::Result<void> write_gpt(const core::Path& folder, const char* name, DType dtype) {
  constexpr std::int64_t kBatch = 2, kTokens = 5, kWidth = 8, kHeads = 2, kKinds = 11;
  Network w(name, dtype);
  const auto classes = [&](std::vector<std::int64_t> values) {
    return w.input(Tensor::of<std::int64_t>({kBatch, kTokens}, values));
  };
  const ValueId ids = classes({3, 0, 10, 3, 3, 7, 1, 2, 0, 9});
  const ValueId target = classes({0, 10, 3, 3, 5, 1, 2, 0, 9, 9});
  const ValueId table = w.weight({kKinds, kWidth}, 0.6);
  ValueId x = w.add(w.op("Gather", {table, ids}), w.weight({kTokens, kWidth}, 0.3));
  const auto norm = [&](ValueId of) {
    const ValueId scale = w.weight({kWidth}, 0.2, 1);
    return w.layer_norm(of, scale, w.weight({kWidth}, 0.1));
  };
  std::vector<double> hidden;
  for (std::int64_t i = 0; i < kTokens * kTokens; ++i)
    hidden.push_back(i % kTokens > i / kTokens ? -1e30 : 0);
  const ValueId mask = w.constant(w.floats({kTokens, kTokens}, hidden));
  for (int block = 0; block < 2; ++block) {
    const ValueId n = norm(x);
    const ValueId product = w.op("MatMul", {n, w.weight({kWidth, 3 * kWidth}, 0.4)});
    const auto parts =
        w.ops("Split", {w.add(product, w.weight({3 * kWidth}, 0.1))},
              with({{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{3}}}), 3);
    const auto heads = [&](ValueId part) {
      return w.turned(w.shaped(part, {kBatch, kTokens, kHeads, kWidth / kHeads}), {0, 2, 1, 3});
    };
    const ValueId keys = w.turned(heads(parts[1]), {0, 1, 3, 2});
    const ValueId likeness = w.mul(w.op("MatMul", {heads(parts[0]), keys}), w.number(0.5));
    const ValueId p = w.op("Softmax", {w.add(likeness, mask)});
    const ValueId seen = w.turned(w.op("MatMul", {p, heads(parts[2])}), {0, 2, 1, 3});
    x = w.add(x, w.op("MatMul", {w.shaped(seen, {kBatch, kTokens, kWidth}),
                                 w.weight({kWidth, kWidth}, 0.4)}));
    const ValueId m = norm(x);
    const ValueId wide = w.op("MatMul", {m, w.weight({kWidth, 4 * kWidth}, 0.4)});
    const ValueId bent = w.op("Gelu", {w.add(wide, w.weight({4 * kWidth}, 0.1))});
    x = w.add(x, w.op("MatMul", {bent, w.weight({4 * kWidth, kWidth}, 0.3)}));
  }
  const ValueId scores = w.op("MatMul", {norm(x), w.turned(table, {1, 0})});
  constexpr std::int64_t kAll = kBatch * kTokens;
  return w.write(folder, w.cross_entropy(w.shaped(scores, {kAll, kKinds}), target, kAll));
}

core::Result<void> write_residual(const core::Path& folder) {
  Network w("residual", DType::kFloat64);
  ValueId x = w.input(w.drawn({3, 3, 9, 9}, 1));
  const ValueId target = w.input(Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{4, 0, 2}));
  const auto conv = [&](ValueId of, const Dims& dims, std::int64_t stride, std::int64_t pad) {
    return w.op("Conv", {of, w.weight(dims, 0.3)},
                with({{"strides", Dims{stride, stride}}, {"pads", Dims{pad, pad, pad, pad}}}));
  };
  const auto norm = [&](ValueId of, std::int64_t channels) {
    const ValueId scale = w.weight({channels}, 0.2, 1), bias = w.weight({channels}, 0.1);
    const ValueId any = w.constant(w.drawn({channels}, 0.1, 1));
    return w.ops("BatchNormalization", {of, scale, bias, any, any},
                 with({{"training_mode", std::int64_t{1}}}), 3)[0];
  };
  const auto relu = [&](ValueId of) { return w.op("Relu", {of}); };
  x = w.op(
      "MaxPool", {relu(norm(conv(x, {4, 3, 3, 3}, 1, 1), 4))},
      with({{"kernel_shape", Dims{3, 3}}, {"strides", Dims{2, 2}}, {"pads", Dims{1, 1, 1, 1}}}));
  ValueId y = relu(norm(conv(x, {4, 4, 3, 3}, 1, 1), 4));
  x = relu(w.add(norm(conv(y, {4, 4, 3, 3}, 1, 1), 4), x));
  y = relu(norm(conv(x, {6, 4, 3, 3}, 2, 1), 6));
  y = norm(conv(y, {6, 6, 3, 3}, 1, 1), 6);
  x = relu(w.add(y, norm(conv(x, {6, 4, 1, 1}, 2, 0), 6)));
  const ValueId flat = w.op("Flatten", {w.op("GlobalAveragePool", {x})});
  const ValueId out = w.weight({5, 6}, 0.5);
  const ValueId scores =
      w.op("Gemm", {flat, out, w.weight({5}, 0.1)}, with({{"transB", std::int64_t{1}}}));
  return w.write(folder, w.cross_entropy(scores, target, 3));
}

}  // namespace
}  // namespace commensal

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("expected a folder\n", stderr);
    return 2;
  }
  using commensal::tensor::DType;
  const commensal::core::Path folder = arguments[1];
  for (const auto& written : {commensal::write_gpt(folder, "gpt", DType::kFloat64),
                              commensal::write_gpt(folder, "gpt_narrow", DType::kFloat32),
                              commensal::write_residual(folder)}) {
    if (written) continue;
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}
