// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/rng.hpp>
#include <string>
#include <vector>

namespace commensal::lab {

/// Collects nodes and initialisers of an ONNX file, opset 13; tensor k of the network is drawn from
/// stream k. Sources of this folder only: nobody else sees ONNX's headers.
class NetworkWriter {
 public:
  NetworkWriter(std::uint64_t seed, const std::string& name) : seed_(seed) {
    model_.set_ir_version(7);
    model_.set_producer_name("commensal");
    model_.add_opset_import()->set_version(13);
    graph().set_name(name);
  }
  /// float32, behind a free dimension N; a dimension of 0 is free.
  void input(const std::string& name, const std::vector<std::int64_t>& dims) {
    declare(*graph().add_input(), name, dims);
  }
  void output(const std::string& name, const std::vector<std::int64_t>& dims) {
    declare(*graph().add_output(), name, dims);
  }

  /// With its bias.
  std::string conv(const std::string& x, const std::string& name, int from, int to, int kernel,
                   int stride, int pad) {
    const std::vector<std::int64_t> shape = {to, from, kernel, kernel};
    // Uniform with variance 2 / fan-in, so that signals neither die nor explode after Relu.
    const double fan_in = from * kernel * kernel;
    add_tensor(name + ".weight", shape, static_cast<float>(std::sqrt(6.0 / fan_in)));
    add_tensor(name + ".bias", {to}, 0.0625F);
    auto& node = add("Conv", {x, name + ".weight", name + ".bias"}, name);
    set(node, "kernel_shape", {kernel, kernel});
    set(node, "strides", {stride, stride});
    set(node, "pads", {pad, pad, pad, pad});
    return name;
  }
  /// Of rows, with its bias.
  std::string linear(const std::string& x, const std::string& name, int from, int to) {
    add_tensor(name + ".weight", {to, from}, static_cast<float>(std::sqrt(6.0 / from)));
    add_tensor(name + ".bias", {to}, 0.0625F);
    set(add("Gemm", {x, name + ".weight", name + ".bias"}, name), "transB", 1);
    return name;
  }
  /// Of 3 by 3, every other one.
  std::string max_pool(const std::string& x, const std::string& name, int pad) {
    auto& node = add("MaxPool", {x}, name);
    set(node, "kernel_shape", {3, 3});
    set(node, "strides", {2, 2});
    set(node, "pads", {pad, pad, pad, pad});
    return name;
  }
  std::string relu(const std::string& x) {
    add("Relu", {x}, x + ".relu");
    return x + ".relu";
  }
  std::string conv_relu(const std::string& x, const std::string& name, int from, int to, int kernel,
                        int stride, int pad) {
    return relu(conv(x, name, from, to, kernel, stride, pad));
  }
  core::Bytes finish() const {
    const std::string text = model_.SerializeAsString();
    const core::ByteView bytes = core::as_bytes(text);
    return {bytes.begin(), bytes.end()};
  }

  using Node = ::onnx::NodeProto;
  Node& add(const std::string& op, const std::vector<std::string>& inputs,
            const std::string& name) {
    Node& node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(name);
    return node;
  }
  static void set(Node& node, const std::string& name, const std::vector<std::int64_t>& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }
  static void set(Node& node, const std::string& name, std::int64_t value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void set(Node& node, const std::string& name, const char* value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }

 private:
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  static void declare(::onnx::ValueInfoProto& info, const std::string& name,
                      const std::vector<std::int64_t>& dims) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    for (const std::int64_t dim : dims) {
      auto& made = *type.mutable_shape()->add_dim();
      if (dim > 0) {
        made.set_dim_value(dim);
      } else {
        made.set_dim_param(fmt::format("{}_{}", name, type.shape().dim_size() - 1));
      }
    }
  }

  void add_tensor(const std::string& name, const std::vector<std::int64_t>& dims, float scale) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    std::uint64_t count = 1;
    for (const std::int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= static_cast<std::uint64_t>(dim);
    }
    std::vector<float> values(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      values[i] = core::counter_symmetric_f32(seed_, tensors_, i) * scale;
    }
    ++tensors_;
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));  // little-endian, as we are
  }

  std::uint64_t seed_;
  std::uint64_t tensors_ = 0;
  ::onnx::ModelProto model_;
};

}  // namespace commensal::lab
