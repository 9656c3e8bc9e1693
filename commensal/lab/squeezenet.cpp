// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/squeezenet.hpp>
#include <vector>

namespace commensal::lab {
namespace {

/// Collects nodes and initialisers; tensor k of the network is drawn from stream k.
class Writer {
 public:
  explicit Writer(std::uint64_t seed) : seed_(seed) {
    model_.set_ir_version(7);
    model_.set_producer_name("commensal");
    model_.add_opset_import()->set_version(13);
    graph().set_name("squeezenet");
    declare(*graph().add_input(), "image", {3, 224, 224});
    declare(*graph().add_output(), "logits", {1000});
  }

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
    add("Relu", {name}, name + ".relu");
    return name + ".relu";
  }
  std::string max_pool(const std::string& x, const std::string& name) {
    auto& node = add("MaxPool", {x}, name);
    set(node, "kernel_shape", {3, 3});
    set(node, "strides", {2, 2});
    set(node, "ceil_mode", 1);
    return name;
  }
  std::string concat(const std::string& one, const std::string& other, const std::string& name) {
    set(add("Concat", {one, other}, name), "axis", 1);
    return name;
  }
  core::Bytes finish(const std::string& x) {
    add("GlobalAveragePool", {x}, "pool10");
    set(add("Flatten", {"pool10"}, "logits"), "axis", 1);
    const std::string text = model_.SerializeAsString();
    const core::ByteView bytes = core::as_bytes(text);
    return {bytes.begin(), bytes.end()};
  }

 private:
  using Node = ::onnx::NodeProto;

  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  static void declare(::onnx::ValueInfoProto& info, const std::string& name,
                      const std::vector<std::int64_t>& dims) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    for (const std::int64_t dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }

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

}  // namespace

core::Bytes squeezenet(std::uint64_t seed) {
  Writer writer(seed);
  std::string x = writer.conv("image", "conv1", 3, 64, 3, 2, 0);
  int from = 64;
  int number = 2;
  for (const int squeeze : {16, 16, 32, 32, 48, 48, 64, 64}) {
    if (number <= 6 && number % 2 == 0) x = writer.max_pool(x, fmt::format("pool{}", number));
    const std::string name = fmt::format("fire{}", number++);
    const int expand = 4 * squeeze;
    x = writer.conv(x, name + ".squeeze", from, squeeze, 1, 1, 0);
    const std::string one = writer.conv(x, name + ".one", squeeze, expand, 1, 1, 0);
    const std::string three = writer.conv(x, name + ".three", squeeze, expand, 3, 1, 1);
    x = writer.concat(one, three, name);
    from = 2 * expand;
  }
  return writer.finish(writer.conv(x, "conv10", from, 1000, 1, 1, 0));
}

}  // namespace commensal::lab
