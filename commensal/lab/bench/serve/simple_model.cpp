// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <commensal/lab/bench/serve/simple_model.hpp>
#include <string>
#include <vector>

namespace commensal::lab::bench::serve {
namespace {

/// The first dimension is free, others as they are given.
void declare(::onnx::ValueInfoProto& port, const std::string& name,
             ::onnx::TensorProto::DataType of, const std::vector<std::int64_t>& rest) {
  port.set_name(name);
  auto& type = *port.mutable_type()->mutable_tensor_type();
  type.set_elem_type(of);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t dim : rest) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

::onnx::ModelProto empty_model(const char* name) {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  model.mutable_graph()->set_name(name);
  return model;
}

core::Bytes bytes_of(const ::onnx::ModelProto& model) {
  const std::string text = model.SerializeAsString();
  return {text.begin(), text.end()};
}

}  // namespace

core::Bytes simple_model() {
  ::onnx::ModelProto model = empty_model("simple");
  auto& graph = *model.mutable_graph();
  for (const char* name : {"INPUT0", "INPUT1"})
    declare(*graph.add_input(), name, ::onnx::TensorProto::INT32, {16});
  for (const auto& [op, name] : {std::pair("Add", "OUTPUT0"), std::pair("Sub", "OUTPUT1")}) {
    declare(*graph.add_output(), name, ::onnx::TensorProto::INT32, {16});
    auto& node = *graph.add_node();
    node.set_op_type(op);
    node.add_input("INPUT0");
    node.add_input("INPUT1");
    node.add_output(name);
  }
  return bytes_of(model);
}

core::Bytes head_model() {
  ::onnx::ModelProto model = empty_model("head");
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "X", ::onnx::TensorProto::FLOAT, {});
  declare(*graph.add_output(), "Y", ::onnx::TensorProto::FLOAT, {});
  auto& first = *graph.add_initializer();
  first.set_name("first");
  first.set_data_type(::onnx::TensorProto::INT64);
  first.add_dims(1);
  first.add_int64_data(0);
  auto& node = *graph.add_node();
  node.set_op_type("Gather");
  node.add_input("X");
  node.add_input("first");
  node.add_output("Y");
  return bytes_of(model);
}

}  // namespace commensal::lab::bench::serve
