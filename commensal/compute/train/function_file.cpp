// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/place_of.hpp>
#include <commensal/compute/train/function_file.hpp>

namespace commensal::train {

using core::ErrorCode;
using core::Result;
using graph::Graph;
using graph::Node;
using Proto = ::onnx::AttributeProto;

namespace {

// From here on only what as_opset() knows of has changed among operators that have gradients.
constexpr int kLiftedOpsetMin = 13;
constexpr const char* kAxes = "axes";

void set_value(Proto& proto, std::int64_t value) {
  proto.set_type(Proto::INT);
  proto.set_i(value);
}
void set_value(Proto& proto, float value) {
  proto.set_type(Proto::FLOAT);
  proto.set_f(value);
}
void set_value(Proto& proto, const std::string& value) {
  proto.set_type(Proto::STRING);
  proto.set_s(value);
}
void set_value(Proto& proto, const std::vector<std::int64_t>& values) {
  proto.set_type(Proto::INTS);
  for (const std::int64_t value : values) proto.add_ints(value);
}
void set_value(Proto& proto, const std::vector<float>& values) {
  proto.set_type(Proto::FLOATS);
  for (const float value : values) proto.add_floats(value);
}
void set_value(Proto& proto, const std::vector<std::string>& values) {
  proto.set_type(Proto::STRINGS);
  for (const std::string& value : values) proto.add_strings(value);
}
void set_value(Proto& proto, const tensor::Tensor& value) {
  proto.set_type(Proto::TENSOR);
  *proto.mutable_t() = tensor_proto("", value);
}

/// What must change about a node so that it means the same in another opset.
struct Lift {
  bool moves_axes = false;  // from an attribute to the last input
};

Result<Lift> as_opset(const Node& node, int opset) {
  if (node.opset == opset) return Lift{};
  const auto row = kernels::find_operator(node.op->domain, node.op->name, opset);
  const bool is_known = row && node.opset >= kLiftedOpsetMin && (*row)->judge == node.op->judge &&
                        (*row)->inputs.min == node.op->inputs.min;
  // What trains itself, or counts otherwise, has more outputs than the first.
  const bool is_same_row = row && *row == node.op;
  const bool has_more = std::ranges::count(node.outputs, graph::kAbsent) + 1 !=
                        static_cast<std::ptrdiff_t>(node.outputs.size());
  if (is_known && (is_same_row || !has_more)) {
    return Lift{!is_same_row && (*row)->inputs.max > node.op->inputs.max &&
                node.attributes.has(kAxes)};
  }
  return core::in_context(
      graph::place_of(node),
      {ErrorCode::kUnsupported, fmt::format("it is of opset {}, expected one that means the same "
                                            "in opset {}: export the model in opset 13 or later",
                                            node.opset, opset)});
}

Result<void> put_node(const Node& node, int opset, ::onnx::FunctionProto& function) {
  if (!node.subgraphs.empty()) {
    return core::in_context(graph::place_of(node),
                            {ErrorCode::kUnsupported, "graphs inside nodes are not trained"});
  }
  if (!node.op->domain.empty()) {
    return core::in_context(
        graph::place_of(node),
        {ErrorCode::kUnsupported, "expected an operator of ONNX's own domain to train it"});
  }
  COMMENSAL_ASSIGN(const Lift lift, as_opset(node, opset));
  const auto name_of = [](graph::ValueId id) {
    return id == graph::kAbsent ? std::string() : inner_name(id);
  };
  std::vector<std::string> inputs;
  for (const graph::ValueId id : node.inputs) inputs.push_back(name_of(id));
  if (lift.moves_axes) {
    COMMENSAL_ASSIGN(const auto axes, node.attributes.integers(kAxes));
    auto& constant = *function.add_node();
    constant.set_op_type("Constant");
    inputs.push_back(fmt::format("axes{}", function.node_size()));
    constant.add_output(inputs.back());
    auto& value = *constant.add_attribute();
    value.set_name("value");
    set_value(value,
              tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(axes.size())}, axes));
  }
  auto& made = *function.add_node();
  made.set_op_type(std::string(node.op->name));
  for (const std::string& input : inputs) made.add_input(input);
  for (const graph::ValueId id : node.outputs) made.add_output(name_of(id));
  for (const auto& [name, value] : node.attributes.all()) {
    if (lift.moves_axes && name == kAxes) continue;
    auto& attribute = *made.add_attribute();
    attribute.set_name(name);
    std::visit([&](const auto& one) { set_value(attribute, one); }, value);
  }
  return {};
}

}  // namespace

int file_opset_of(const Graph& graph) {
  int opset = kLiftedOpsetMin;
  for (const Node& node : graph.nodes) {
    if (node.op->domain.empty()) opset = std::max(opset, node.opset);
  }
  return opset;
}

std::string inner_name(graph::ValueId id) { return fmt::format("v{}", id); }

Result<::onnx::FunctionProto> function_of(const Graph& graph, const std::string& name,
                                          const std::string& domain, int opset) {
  ::onnx::FunctionProto function;
  function.set_name(name);
  function.set_domain(domain);
  auto& import = *function.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  for (const graph::ValueId id : graph.inputs) function.add_input(inner_name(id));
  for (const auto& [id, value] : graph.initialisers) function.add_input(inner_name(id));
  for (const graph::ValueId id : graph.outputs) function.add_output(inner_name(id));
  for (const Node& node : graph.nodes) COMMENSAL_TRY(put_node(node, opset, function));
  return function;
}

::onnx::TensorProto tensor_proto(const std::string& name, const tensor::Tensor& value) {
  ::onnx::TensorProto made;
  if (!name.empty()) made.set_name(name);
  made.set_data_type(static_cast<int>(value.dtype()));  // the numbers are ONNX's
  for (const std::int64_t dim : value.shape().dims()) made.add_dims(dim);
  made.set_raw_data(value.bytes().data(), value.bytes().size());
  return made;
}

void declare(::onnx::ValueInfoProto& info, const std::string& name,
             const tensor::TensorType& type) {
  info.set_name(name);
  auto& made = *info.mutable_type()->mutable_tensor_type();
  made.set_elem_type(static_cast<int>(type.dtype));
  made.mutable_shape();
  for (const std::int64_t dim : type.shape.dims())
    made.mutable_shape()->add_dim()->set_dim_value(dim);
}

::onnx::NodeProto& add_node(::onnx::GraphProto& graph, const std::string& op,
                            const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs) {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

void set_integer(::onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  set_value(attribute, value);
}

}  // namespace commensal::train
