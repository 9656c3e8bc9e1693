// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <commensal/compute/train/function_file.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <map>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Tensor;

namespace {

/// The attribute of a Constant as a tensor, where it is one or floats.
::onnx::TensorProto* tensor_of(::onnx::AttributeProto& attribute) {
  const bool is_one = attribute.name() == "value_float";
  if (is_one || attribute.name() == "value_floats") {
    ::onnx::TensorProto made;
    made.set_data_type(::onnx::TensorProto::FLOAT);
    if (!is_one) made.add_dims(attribute.floats_size());
    if (is_one) made.add_float_data(attribute.f());
    if (!is_one) *made.mutable_float_data() = attribute.floats();
    attribute.Clear();
    attribute.set_name("value");
    attribute.set_type(::onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = std::move(made);
  }
  return attribute.name() == "value" && attribute.has_t() ? attribute.mutable_t() : nullptr;
}

/// Initialisers, and what Constant nodes make: the importer takes both for weights.
std::map<std::string, ::onnx::TensorProto*> weights_in(::onnx::GraphProto& graph) {
  std::map<std::string, ::onnx::TensorProto*> found;
  for (auto& initialiser : *graph.mutable_initializer()) found[initialiser.name()] = &initialiser;
  for (auto& node : *graph.mutable_node()) {
    if (node.output_size() != 1) continue;
    for (auto& attribute : *node.mutable_attribute()) {
      if (auto* const value = tensor_of(attribute)) found[node.output(0)] = value;
    }
  }
  return found;
}

void replace(::onnx::TensorProto& proto, const Tensor& value) {
  proto = tensor_proto(std::string(proto.name()), value);
}

Result<::onnx::ModelProto> parsed(core::ByteView model) {
  ::onnx::ModelProto proto;
  if (!proto.ParseFromArray(model.data(), static_cast<int>(model.size())))
    return fail(ErrorCode::kInvalidArgument, "the model's file is not ONNX any more");
  return proto;
}

Result<core::Bytes> written(const ::onnx::ModelProto& proto) {
  std::string made;
  if (!proto.SerializeToString(&made))
    return fail(ErrorCode::kResourceExhausted, "the model is too large for one file");
  return core::Bytes(made.begin(), made.end());
}

Result<void> check_in_one_file(const std::map<std::string, ::onnx::TensorProto*>& weights) {
  for (const auto& [name, tensor] : weights) {
    if (tensor->data_location() != ::onnx::TensorProto::EXTERNAL) continue;
    return fail(ErrorCode::kUnsupported,
                "the model keeps '{}' in another file, expected all weights in one to export",
                name);
  }
  return {};
}

void add_initialiser(::onnx::GraphProto& graph, const std::string& name, const Tensor& value) {
  *graph.add_initializer() = tensor_proto(name, value);
}

::onnx::NodeProto node_of(const std::string& op, const std::string& a, const std::string& b,
                          const std::string& output) {
  ::onnx::NodeProto made;
  made.set_op_type(op);
  made.set_name(output);
  made.add_input(a);
  made.add_input(b);
  made.add_output(output);
  return made;
}

/// weight + scale * (b x a), in the operations of with_adapters().
void add_adapter(::onnx::GraphProto& graph, const Adapted::One& one, const Tensor& scale,
                 std::vector<::onnx::NodeProto>& nodes) {
  const std::string begin = one.weight + ".adapter.";
  const auto weight = std::ranges::find(*graph.mutable_initializer(), one.weight,
                                        [](const auto& each) { return each.name(); });
  const std::vector<std::int64_t> dims(weight->dims().begin(), weight->dims().end());
  add_initialiser(graph, begin + "scale", scale);
  nodes.push_back(node_of("MatMul", one.b, one.a, begin + "product"));
  nodes.push_back(node_of("Mul", begin + "product", begin + "scale", begin + "scaled"));
  std::string last = begin + "scaled";
  if (dims.size() > 2) {
    const auto count = static_cast<std::int64_t>(dims.size());
    add_initialiser(graph, begin + "dims", Tensor::of<std::int64_t>({count}, dims));
    nodes.push_back(node_of("Reshape", last, begin + "dims", begin + "shaped"));
    last = begin + "shaped";
  }
  nodes.push_back(node_of("Add", one.weight, last, one.weight + ".adapted"));
}

Tensor scalar(double value, tensor::DType dtype) {
  const auto narrow = static_cast<float>(value);
  if (dtype == tensor::DType::kFloat64) return Tensor::of<double>({}, std::span(&value, 1));
  return Tensor::of<float>({}, std::span(&narrow, 1));
}

/// In nodes, and in the graphs in them.
void rename_uses(::onnx::GraphProto& graph, const std::map<std::string, std::string>& names) {
  for (auto& node : *graph.mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (const auto to = names.find(input); to != names.end()) input = to->second;
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename_uses(*attribute.mutable_g(), names);
    }
  }
}

std::int64_t opset_of(const ::onnx::ModelProto& proto) {
  for (const auto& each : proto.opset_import()) {
    if (each.domain().empty() || each.domain() == "ai.onnx") return each.version();
  }
  return 1;
}

}  // namespace

Result<core::Bytes> with_weights(core::ByteView model,
                                 const std::vector<Checkpoint::Entry>& weights) {
  COMMENSAL_ASSIGN(auto proto, parsed(model));
  auto found = weights_in(*proto.mutable_graph());
  COMMENSAL_TRY(check_in_one_file(found));
  for (const auto& [name, value] : weights) {
    const auto at = found.find(name);
    if (at == found.end())
      return fail(ErrorCode::kInvalidArgument, "the model's file has no initialiser '{}'", name);
    replace(*at->second, value);
  }
  return written(proto);
}

Result<core::Bytes> with_adapter_nodes(core::ByteView model, const Adapted& adapted, double scale,
                                       const std::vector<Checkpoint::Entry>& trained) {
  COMMENSAL_ASSIGN(auto proto, parsed(model));
  ::onnx::GraphProto& graph = *proto.mutable_graph();
  auto found = weights_in(graph);
  COMMENSAL_TRY(check_in_one_file(found));
  if (opset_of(proto) < 7) {
    return fail(ErrorCode::kUnsupported,
                "the model is of opset {}, expected 7 or more to keep adapters: merge them",
                opset_of(proto));
  }
  for (const Adapted::One& one : adapted.all) {
    const bool is_initialiser = std::ranges::any_of(
        graph.initializer(), [&](const auto& each) { return each.name() == one.weight; });
    if (is_initialiser) continue;
    return fail(ErrorCode::kUnsupported,
                "a node makes '{}', expected an initialiser to keep its adapter: merge it",
                one.weight);
  }
  std::map<std::string, tensor::DType> types;
  for (const auto& [name, value] : trained) {
    types[name] = value.dtype();
    const auto at = found.find(name);
    if (at == found.end()) {
      add_initialiser(graph, name, value);
    } else {
      replace(*at->second, value);
    }
  }
  std::vector<::onnx::NodeProto> nodes;
  std::map<std::string, std::string> names;
  for (const Adapted::One& one : adapted.all) {
    add_adapter(graph, one, scalar(scale, types.at(one.a)), nodes);
    names[one.weight] = one.weight + ".adapted";
  }
  rename_uses(graph, names);
  for (auto& node : *graph.mutable_node()) nodes.push_back(std::move(node));
  graph.clear_node();
  for (auto& node : nodes) *graph.add_node() = std::move(node);
  if (proto.ir_version() < 4) proto.set_ir_version(4);  // initialisers that are no inputs
  return written(proto);
}

}  // namespace commensal::train
