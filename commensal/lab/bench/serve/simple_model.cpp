// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <commensal/lab/bench/serve/simple_model.hpp>
#include <string>

namespace commensal::lab::bench::serve {
namespace {

void declare(::onnx::ValueInfoProto& port, const std::string& name) {
  port.set_name(name);
  auto& type = *port.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::INT32);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  type.mutable_shape()->add_dim()->set_dim_value(16);
}

}  // namespace

core::Bytes simple_model() {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  graph.set_name("simple");
  declare(*graph.add_input(), "INPUT0");
  declare(*graph.add_input(), "INPUT1");
  for (const auto& [op, name] : {std::pair("Add", "OUTPUT0"), std::pair("Sub", "OUTPUT1")}) {
    declare(*graph.add_output(), name);
    auto& node = *graph.add_node();
    node.set_op_type(op);
    node.add_input("INPUT0");
    node.add_input("INPUT1");
    node.add_output(name);
  }
  const std::string text = model.SerializeAsString();
  return {text.begin(), text.end()};
}

}  // namespace commensal::lab::bench::serve
