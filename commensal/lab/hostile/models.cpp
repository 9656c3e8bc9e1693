// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <commensal/lab/hostile/models.hpp>
#include <string>

namespace commensal::lab::hostile {
namespace {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;

/// Dimensions below zero are free, by this name.
void declare(::onnx::ValueInfoProto& info, const std::string& name, int type,
             const std::vector<std::int64_t>& dims, const std::string& symbol = "n") {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  auto& shape = *tensor.mutable_shape();
  for (const std::int64_t dim : dims) {
    if (dim < 0) {
      shape.add_dim()->set_dim_param(symbol);
    } else {
      shape.add_dim()->set_dim_value(dim);
    }
  }
}

::onnx::NodeProto& add(::onnx::GraphProto& graph, const char* op,
                       const std::vector<const char*>& inputs, const char* output) {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  for (const char* name : inputs) node.add_input(name);
  node.add_output(output);
  return node;
}

AttributeProto& attribute(::onnx::NodeProto& node, const char* name,
                          AttributeProto::AttributeType type) {
  auto& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}

TensorProto& weight(::onnx::GraphProto& graph, const char* name, TensorProto::DataType type,
                    const std::vector<std::int64_t>& dims) {
  auto& made = *graph.add_initializer();
  made.set_name(name);
  made.set_data_type(type);
  for (const std::int64_t dim : dims) made.add_dims(dim);
  return made;
}

::onnx::ModelProto empty_model() {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  model.mutable_graph()->set_name("g");
  return model;
}

/// y = op(x, others...), float32 but for x.
::onnx::ModelProto one_node(const char* op, int type, const std::vector<std::int64_t>& dims,
                            const std::vector<const char*>& inputs = {"x"}) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", type, dims);
  declare(*graph.add_output(), "y", TensorProto::FLOAT, {-1});
  add(graph, op, inputs, "y");
  return model;
}

/// Of all of `y` by x.
void add_gradient(::onnx::GraphProto& graph, const char* y, const char* output) {
  auto& node = add(graph, "Gradient", {"x"}, output);
  node.set_domain("ai.onnx.preview.training");
  attribute(node, "xs", AttributeProto::STRINGS).add_strings("x");
  attribute(node, "y", AttributeProto::STRING).set_s(y);
}

/// float32 x, and no nodes yet.
::onnx::ModelProto training_model(const std::vector<std::int64_t>& dims) {
  ::onnx::ModelProto model = empty_model();
  auto& import = *model.add_opset_import();
  import.set_domain("ai.onnx.preview.training");
  import.set_version(1);
  declare(*model.mutable_graph()->add_input(), "x", TensorProto::FLOAT, dims);
  declare(*model.mutable_graph()->add_output(), "y", TensorProto::FLOAT, dims);
  return model;
}

core::Bytes bytes_of(const ::onnx::ModelProto& model) {
  const std::string text = model.SerializeAsString();
  return {text.begin(), text.end()};
}

}  // namespace

core::Bytes looping_model(std::int64_t trips) {
  constexpr std::int64_t kSide = 512;
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", TensorProto::FLOAT, {1});
  declare(*graph.add_output(), "y", TensorProto::FLOAT, {1});
  weight(graph, "trips", TensorProto::INT64, {}).add_int64_data(trips);
  weight(graph, "a", TensorProto::FLOAT, {kSide, kSide})
      .set_raw_data(std::string(kSide * kSide * sizeof(float), '\0'));
  auto& loop = add(graph, "Loop", {"trips", "", "x"}, "y");
  auto& body = *attribute(loop, "body", AttributeProto::GRAPH).mutable_g();
  body.set_name("body");
  declare(*body.add_input(), "i", TensorProto::INT64, {});
  declare(*body.add_input(), "goes_on", TensorProto::BOOL, {});
  declare(*body.add_input(), "state", TensorProto::FLOAT, {1});
  attribute(add(body, "Cast", {"i"}, "real"), "to", AttributeProto::INT).set_i(TensorProto::FLOAT);
  add(body, "Add", {"a", "real"}, "moved");  // another product each time: none is computed ahead
  add(body, "MatMul", {"moved", "a"}, "product");
  attribute(add(body, "ReduceMax", {"product"}, "most"), "keepdims", AttributeProto::INT).set_i(0);
  add(body, "Add", {"state", "most"}, "next");
  add(body, "Identity", {"goes_on"}, "goes_on_too");
  declare(*body.add_output(), "goes_on_too", TensorProto::BOOL, {});
  declare(*body.add_output(), "next", TensorProto::FLOAT, {1});
  return bytes_of(model);
}

core::Bytes hungry_model(float value) {
  ::onnx::ModelProto model = one_node("ConstantOfShape", TensorProto::INT64, {1});
  auto& node = *model.mutable_graph()->mutable_node(0);
  auto& filled = *attribute(node, "value", AttributeProto::TENSOR).mutable_t();
  filled.set_data_type(TensorProto::FLOAT);
  filled.add_dims(1);
  filled.add_float_data(value);
  return bytes_of(model);
}

core::Bytes relu_model() { return bytes_of(one_node("Relu", TensorProto::FLOAT, {-1})); }

core::Bytes listed_model(std::size_t inputs) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  for (std::size_t i = 0; i < inputs; ++i) {
    declare(*graph.add_input(), fmt::format("x{}", i), TensorProto::FLOAT,
            std::vector<std::int64_t>(16, 1));
  }
  declare(*graph.add_output(), "y", TensorProto::FLOAT, std::vector<std::int64_t>(16, 1));
  add(graph, "Relu", {"x0"}, "y");
  return bytes_of(model);
}

std::vector<core::Bytes> unkeepable_models() {
  auto many = one_node("Relu", TensorProto::FLOAT, {-1});
  for (int i = 0; i < 70'000; ++i) {
    declare(*many.mutable_graph()->add_input(), fmt::format("i{}", i), TensorProto::FLOAT, {});
  }
  auto named = one_node("Relu", TensorProto::FLOAT, {-1});
  for (int i = 0; i < 500; ++i) {
    declare(*named.mutable_graph()->add_input(), fmt::format("i{}", i), TensorProto::FLOAT,
            std::vector<std::int64_t>(16, -1), std::string(4'000, 'n'));
  }
  auto outside = one_node("Add", TensorProto::FLOAT, {4}, {"x", "w"});
  auto& elsewhere = weight(*outside.mutable_graph(), "w", TensorProto::FLOAT, {4});
  elsewhere.set_data_location(TensorProto::EXTERNAL);
  auto& where = *elsewhere.add_external_data();
  where.set_key("location");
  where.set_value("../../../../etc/passwd");
  auto huge = one_node("Add", TensorProto::FLOAT, {4}, {"x", "w"});
  weight(*huge.mutable_graph(), "w", TensorProto::FLOAT, {std::int64_t{1} << 39});
  return {bytes_of(many), bytes_of(named), bytes_of(outside), bytes_of(huge)};
}

std::vector<core::Bytes> swelling_models() {
  auto square = training_model({1, 1, 1 << 21});
  auto& scales = weight(*square.mutable_graph(), "scales", TensorProto::FLOAT, {3});
  for (const float scale : {1.0F, 1.0F, 2.0F}) scales.add_float_data(scale);
  add(*square.mutable_graph(), "Resize", {"x", "", "scales"}, "r");
  add_gradient(*square.mutable_graph(), "r", "y");
  auto image = training_model({1, 1, 1 << 27});
  auto& pool = add(*image.mutable_graph(), "AveragePool", {"x"}, "p");
  attribute(pool, "kernel_shape", AttributeProto::INTS).add_ints(1);
  add_gradient(*image.mutable_graph(), "p", "y");
  auto doubled = training_model({1});
  auto& graph = *doubled.mutable_graph();
  std::string before = "g0";
  add(graph, "Sin", {"x"}, "sine");
  add(graph, "Tanh", {"sine"}, before.c_str());
  for (int i = 1; i <= 24; ++i) {
    const std::string next = fmt::format("g{}", i);
    add_gradient(graph, before.c_str(), next.c_str());
    before = next;
  }
  add(graph, "Identity", {before.c_str()}, "y");
  return {bytes_of(square), bytes_of(image), bytes_of(doubled)};
}

}  // namespace commensal::lab::hostile
