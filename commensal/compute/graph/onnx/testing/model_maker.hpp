// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <string>
#include <vector>

/// Models made in memory, for tests only.
namespace commensal::graph::onnx::testing {

/// A model with one input x and one output y, both float32[2,3], and no nodes yet.
inline ::onnx::ModelProto empty_model(int opset = 13) {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  model.mutable_graph()->set_name("test");
  const auto declare = [](::onnx::ValueInfoProto* info, const char* name) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_value(2);
    type->mutable_shape()->add_dim()->set_dim_value(3);
  };
  declare(model.mutable_graph()->add_input(), "x");
  declare(model.mutable_graph()->add_output(), "y");
  return model;
}

inline ::onnx::NodeProto* add_node(::onnx::ModelProto& model, const std::string& op,
                                   const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs) {
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  for (const auto& name : inputs) node->add_input(name);
  for (const auto& name : outputs) node->add_output(name);
  return node;
}

inline ::onnx::ModelProto relu_model(int opset = 13) {
  auto model = empty_model(opset);
  add_node(model, "Relu", {"x"}, {"y"});
  return model;
}

inline ::onnx::TensorProto* add_initialiser(::onnx::ModelProto& model, const std::string& name,
                                            const std::vector<std::int64_t>& dims,
                                            int data_type = ::onnx::TensorProto::FLOAT) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(data_type);
  for (const std::int64_t dim : dims) tensor->add_dims(dim);
  return tensor;
}

inline core::Result<std::shared_ptr<const Graph>> import_text(const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  return import_bytes(core::as_bytes(*owner), owner);
}
inline core::Result<std::shared_ptr<const Graph>> import_model(const ::onnx::ModelProto& model) {
  return import_text(model.SerializeAsString());
}

}  // namespace commensal::graph::onnx::testing
