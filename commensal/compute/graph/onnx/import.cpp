// SPDX-License-Identifier: Apache-2.0
#include <onnx/checker.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_graphs.hpp>
#include <commensal/compute/grad/gradient_nodes.hpp>
#include <commensal/compute/graph/onnx/attribute_proto.hpp>
#include <commensal/compute/graph/onnx/einsum_pairs.hpp>
#include <commensal/compute/graph/onnx/functions.hpp>
#include <commensal/compute/graph/onnx/gradient_names.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/onnx/structure.hpp>
#include <commensal/compute/graph/onnx/tensor_proto.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <commensal/compute/graph/onnx/wire.hpp>
#include <limits>
#include <unordered_map>

namespace commensal::graph::onnx {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

// The tensor type inside of sequences and optionals, which `containers` gets.
Result<const ::onnx::TypeProto*> innermost(const ::onnx::TypeProto& proto,
                                           std::vector<Container>& containers) {
  const ::onnx::TypeProto* inner = &proto;
  while (!inner->has_tensor_type()) {
    if (inner->has_sequence_type()) {
      containers.push_back(Container::kSequence);
      inner = &inner->sequence_type().elem_type();
    } else if (inner->has_optional_type()) {
      containers.push_back(Container::kOptional);
      inner = &inner->optional_type().elem_type();
    } else {
      return fail(ErrorCode::kUnsupported,
                  "only tensors, sequences and optionals of them are supported");
    }
  }
  return inner;
}

Result<Declared> to_declared(const ::onnx::TypeProto& outer) {
  Declared declared;
  COMMENSAL_ASSIGN(const ::onnx::TypeProto* inner, innermost(outer, declared.containers));
  const ::onnx::TypeProto& proto = *inner;
  COMMENSAL_ASSIGN(declared.dtype, tensor::any_dtype_from_onnx(proto.tensor_type().elem_type()));
  declared.ranked = proto.tensor_type().has_shape();
  std::vector<std::int64_t> known;
  for (const auto& dim : proto.tensor_type().shape().dim()) {
    if (dim.has_dim_value()) known.push_back(dim.dim_value());
    declared.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    declared.symbols.push_back(is_name(dim.dim_param()) ? dim.dim_param() : "");
  }
  COMMENSAL_TRY(tensor::Shape::of(known));
  if (declared.dims.size() > static_cast<std::size_t>(limits::kRankMax)) {
    return fail(ErrorCode::kInvalidArgument, "rank {} is above the limit of {}",
                declared.dims.size(), limits::kRankMax);
  }
  return declared;
}

/// Makes the Graph of a model whose structure has been checked.
class Builder {
 public:
  /// `around` is the builder of the graph that `proto` is inside of, null for the model's own.
  Builder(const ::onnx::GraphProto& proto, const Opsets& opsets, ExternalFiles& files,
          Builder* around = nullptr)
      : proto_(proto), opsets_(opsets), files_(files), around_(around) {}

  Result<std::shared_ptr<const Graph>> build(const std::vector<std::optional<core::ByteView>>& raw,
                                             const Extent& whole) {
    graph_->name = one_line(proto_.name());
    COMMENSAL_TRY(add_initialisers(raw, whole));
    COMMENSAL_TRY(add_inputs());
    for (int i = 0; i < proto_.node_size(); ++i) {
      auto added = add_node(proto_.node(i), i);
      if (!added) return core::in_context(place_of(proto_.node(i), i), added.error());
    }
    COMMENSAL_TRY(add_outputs());
    if (!gradients_.empty()) {
      COMMENSAL_ASSIGN(*graph_, grad::with_gradient_nodes(std::move(*graph_), gradients_));
    }
    graph_->inputs.insert(graph_->inputs.end(), captured_.begin(), captured_.end());
    return std::shared_ptr<const Graph>(graph_);
  }

  /// The values of the graph around that the one built uses, in the order of its last inputs.
  const std::vector<ValueId>& captures() const { return captures_; }

 private:
  // A name that is made here, or was.
  ValueId id_of(const std::string& name) {
    const auto [place, fresh] = ids_.emplace(name, static_cast<ValueId>(graph_->values.size()));
    if (fresh) graph_->values.push_back({name, {}});
    return place->second;
  }

  // A name that is used: made here before, or in a graph around this one.
  ValueId used(const std::string& name) {
    if (around_ == nullptr || ids_.contains(name)) return id_of(name);
    captures_.push_back(around_->used(name));
    captured_.push_back(id_of(name));
    return captured_.back();
  }

  Result<void> add_initialisers(const std::vector<std::optional<core::ByteView>>& raw,
                                const Extent& whole) {
    core::check(static_cast<int>(raw.size()) == proto_.initializer_size(),
                "the stripped model has every initialiser");
    for (int i = 0; i < proto_.initializer_size(); ++i) {
      const auto& view = raw[static_cast<std::size_t>(i)];
      const auto extent =
          view ? std::optional(Extent{*view, whole.owner, whole.file}) : std::nullopt;
      const std::string& name = proto_.initializer(i).name();
      auto value = to_tensor(proto_.initializer(i), extent, files_);
      if (!value) return core::in_context(fmt::format("initialiser '{}'", name), value.error());
      graph_->initialisers.emplace(id_of(name), *std::move(value));
    }
    return {};
  }

  // The inputs and outputs of a subgraph need not have a type.
  Result<Declared> declared_of(const ::onnx::ValueInfoProto& info) const {
    const bool is_open = around_ != nullptr && info.type().value_case() == 0;
    return is_open ? Declared() : to_declared(info.type());
  }

  Result<void> add_inputs() {
    for (const auto& input : proto_.input()) {
      const std::string place = fmt::format("input '{}'", input.name());
      auto declared = declared_of(input);
      if (!declared) return core::in_context(place, declared.error());
      const ValueId id = id_of(input.name());
      const auto initialiser = graph_->initialisers.find(id);
      if (initialiser == graph_->initialisers.end()) {
        graph_->values[static_cast<std::size_t>(id)].declared = *std::move(declared);
        graph_->inputs.push_back(id);
      } else if (!declared->admits(tensor::Value(initialiser->second))) {
        return fail(ErrorCode::kInvalidArgument, "{}: its initialiser is {}, expected {}", place,
                    initialiser->second.type().text(), declared->text());
      }
    }
    return {};
  }

  Result<void> add_outputs() {
    for (const auto& output : proto_.output()) {
      auto declared = declared_of(output);
      if (!declared) {
        return core::in_context(fmt::format("output '{}'", output.name()), declared.error());
      }
      const ValueId id = used(output.name());
      Declared& known = graph_->values[static_cast<std::size_t>(id)].declared;
      if (known.dtype == tensor::DType::kUndefined) known = *std::move(declared);
      graph_->outputs.push_back(id);
    }
    return {};
  }

  Result<void> add_node(const ::onnx::NodeProto& proto, int index) {
    const std::string domain = normal_domain(proto.domain());
    const auto opset = opsets_.find(domain);
    if (opset == opsets_.end()) {
      return fail(ErrorCode::kInvalidArgument, "the model imports no opset of domain '{}'", domain);
    }
    if (is_gradient(proto)) return add_gradient(proto, index);
    Node node;
    node.name = name_of(proto, index);
    node.opset = opset->second;
    COMMENSAL_ASSIGN(node.op, kernels::find_operator(domain, proto.op_type(), opset->second));
    if (node.op->role == kernels::Role::kConstant) return add_constant(proto);
    if (proto.attribute_size() > limits::kNodeAttributesMax) {
      return fail(ErrorCode::kInvalidArgument, "{} attributes, at most {} are supported",
                  proto.attribute_size(), limits::kNodeAttributesMax);
    }
    COMMENSAL_ASSIGN(node.attributes, to_attributes(proto, files_));
    COMMENSAL_TRY(add_subgraphs(proto, node));
    node.inputs = ids_of(proto.input(), &Builder::used);
    node.outputs = ids_of(proto.output(), &Builder::id_of);
    const auto inputs = static_cast<int>(node.inputs.size());
    if (inputs < node.op->inputs.min || inputs > node.op->inputs.max) {
      return fail(ErrorCode::kInvalidArgument, "{} inputs, expected {} to {}", inputs,
                  node.op->inputs.min, node.op->inputs.max);
    }
    if (node.outputs.empty()) return fail(ErrorCode::kInvalidArgument, "it makes nothing");
    if (static_cast<int>(node.outputs.size()) > node.op->outputs_max) {
      return fail(ErrorCode::kUnsupported, "{} outputs, at most {} are supported",
                  node.outputs.size(), node.op->outputs_max);
    }
    graph_->nodes.push_back(std::move(node));
    return {};
  }

  Result<void> add_subgraphs(const ::onnx::NodeProto& proto, Node& node) {
    for (const auto& attribute : proto.attribute()) {
      if (attribute.type() != ::onnx::AttributeProto::GRAPH) continue;
      if (node.op->values == nullptr) {
        return fail(ErrorCode::kInvalidArgument, "attribute '{}': it takes no graph",
                    one_line(attribute.name()));
      }
      Builder inner(attribute.g(), opsets_, files_, this);
      const std::vector<std::optional<core::ByteView>> in_proto(
          static_cast<std::size_t>(attribute.g().initializer_size()));
      auto graph = inner.build(in_proto, {});
      if (!graph) return core::in_context(fmt::format("in {}", attribute.name()), graph.error());
      node.subgraphs.push_back({attribute.name(), *std::move(graph), inner.captures()});
    }
    return {};
  }

  // Absent at the end is absent altogether: trailing "" carry nothing.
  std::vector<ValueId> ids_of(const google::protobuf::RepeatedPtrField<std::string>& names,
                              ValueId (Builder::*id)(const std::string&)) {
    std::vector<ValueId> ids;
    for (const std::string& name : names) ids.push_back(name.empty() ? kAbsent : (this->*id)(name));
    while (!ids.empty() && ids.back() == kAbsent) ids.pop_back();
    return ids;
  }

  // No node of ours: what it stands for is added once the graph is whole.
  Result<void> add_gradient(const ::onnx::NodeProto& proto, int index) {
    if (around_ != nullptr)
      return fail(ErrorCode::kUnsupported, "inside another node's graph it is not supported");
    COMMENSAL_ASSIGN(const GradientNames names, gradient_names(proto, files_));
    grad::GradientNode node;
    node.place = place_of(proto, index);
    node.at = graph_->nodes.size();
    const auto find = [&](const std::string& name) -> Result<ValueId> {
      const auto found = ids_.find(name);
      if (found != ids_.end()) return found->second;
      return fail(ErrorCode::kInvalidArgument, "nothing before it defines '{}'", one_line(name));
    };
    for (const std::string& name : names.xs) {
      COMMENSAL_ASSIGN(node.xs.emplace_back(), find(name));
    }
    for (const std::string& name : names.zs) {
      COMMENSAL_ASSIGN(node.zs.emplace_back(), find(name));
    }
    COMMENSAL_ASSIGN(node.y, find(names.y));
    node.inputs = ids_of(proto.input(), &Builder::used);
    node.outputs = ids_of(proto.output(), &Builder::id_of);
    gradients_.push_back(std::move(node));
    return {};
  }

  // A Constant is an initialiser by another name; as one it can be packed.
  Result<void> add_constant(const ::onnx::NodeProto& proto) {
    if (proto.input_size() != 0 || proto.output_size() != 1 || proto.attribute_size() != 1 ||
        proto.output(0).empty()) {
      return fail(ErrorCode::kInvalidArgument, "expected one attribute, one output and no input");
    }
    COMMENSAL_ASSIGN(const kernels::Attributes attributes, to_attributes(proto, files_));
    if (attributes.all().empty()) {
      return fail(ErrorCode::kInvalidArgument, "a constant's attribute cannot be a graph");
    }
    const auto& [name, value] = *attributes.all().begin();
    tensor::Tensor made;
    if (const auto* whole = std::get_if<tensor::Tensor>(&value)) made = *whole;
    if (const auto* one = std::get_if<float>(&value)) made = scalar(*one);
    if (const auto* one = std::get_if<std::int64_t>(&value)) made = scalar(*one);
    if (const auto* list = std::get_if<std::vector<float>>(&value)) made = vector(*list);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) made = vector(*list);
    if (const auto* one = std::get_if<std::string>(&value)) {
      made = tensor::Tensor::of_strings({}, {*one});
    }
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
      made = tensor::Tensor::of_strings({static_cast<std::int64_t>(list->size())}, *list);
    }
    if (!made.defined()) {
      return fail(ErrorCode::kUnsupported, "attribute '{}' is not supported", name);
    }
    graph_->initialisers.emplace(id_of(proto.output(0)), std::move(made));
    return {};
  }

  template <class T>
  static tensor::Tensor scalar(T value) {
    return tensor::Tensor::of<T>({}, std::span<const T>(&value, 1));
  }
  template <class T>
  static tensor::Tensor vector(const std::vector<T>& values) {
    return tensor::Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
  }

  const ::onnx::GraphProto& proto_;
  const Opsets& opsets_;
  ExternalFiles& files_;
  Builder* around_;
  std::vector<ValueId> captures_, captured_;  // around, and what it is called here
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<grad::GradientNode> gradients_;
};

// What libonnx's checker would stumble over, though it is sound: files it should not look for,
// another spelling of the default domain, versions of the format newer than the library, inputs and
// outputs of any shape.
void prepare_for_checker(::onnx::ModelProto& model) {
  constexpr std::int64_t kCheckerIrVersionMax = 8;
  model.set_ir_version(std::min<std::int64_t>(model.ir_version(), kCheckerIrVersionMax));
  for (auto& import : *model.mutable_opset_import()) {
    import.set_domain(normal_domain(import.domain()));
  }
  const auto forget_file = [](::onnx::TensorProto& tensor) {
    if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL) return;
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(std::string(1, '\0'));
  };
  const auto give_shape = [](::onnx::ValueInfoProto& value) {
    if (value.type().has_tensor_type())
      value.mutable_type()->mutable_tensor_type()->mutable_shape();
  };
  for (auto& value : *model.mutable_graph()->mutable_input()) give_shape(value);
  for (auto& value : *model.mutable_graph()->mutable_output()) give_shape(value);
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) forget_file(tensor);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    node.set_domain(normal_domain(node.domain()));
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) forget_file(*attribute.mutable_t());
    }
  }
}

// libonnx 1.12 judges a newer operator by the last definition that it knows, and so wrongly. Such
// models stand on check_structure and on what each operator's `infer` checks.
bool is_known_to_checker(const Opsets& opsets) {
  constexpr std::pair<const char*, int> kLast[] = {{"", 17}, {"ai.onnx.ml", 3}};
  for (const auto& [domain, last] : kLast) {
    const auto found = opsets.find(domain);
    if (found != opsets.end() && found->second > last) return false;
  }
  return true;
}

Result<void> run_checker(::onnx::ModelProto& model) {
  prepare_for_checker(model);
  try {
    ::onnx::checker::check_model(model);
  } catch (const std::exception& found) {
    return fail(ErrorCode::kInvalidArgument, "the ONNX checker says: {}", one_line(found.what()));
  }
  return {};
}

Result<std::shared_ptr<const Graph>> import(const Extent& whole, ExternalFiles& files) {
  COMMENSAL_ASSIGN(const Stripped stripped, strip(whole.bytes));
  ::onnx::ModelProto model;
  if (stripped.model.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return fail(ErrorCode::kResourceExhausted, "the model has {} bytes beside its weights",
                stripped.model.size());
  }
  if (!model.ParseFromArray(stripped.model.data(), static_cast<int>(stripped.model.size()))) {
    return fail(ErrorCode::kInvalidArgument, "not an ONNX model: the protobuf parser refused it");
  }
  COMMENSAL_ASSIGN(const Opsets opsets, read_opsets(model));
  COMMENSAL_TRY(inline_functions(model));
  COMMENSAL_TRY(check_structure(model));
  pair_einsums(*model.mutable_graph());
  COMMENSAL_ASSIGN(auto graph, Builder(model.graph(), opsets, files).build(stripped.raw, whole));
  if (is_known_to_checker(opsets)) COMMENSAL_TRY(run_checker(model));
  return graph;
}

}  // namespace

Result<std::shared_ptr<const Graph>> import_file(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(path, limits::kModelBytesMax));
  ExternalFiles files(path.parent_path());
  return import({file->bytes(), file, file}, files);
}

Result<std::shared_ptr<const Graph>> import_file(std::shared_ptr<const core::MappedFile> file) {
  ExternalFiles files;
  return import({file->bytes(), file, file}, files);
}

Result<std::shared_ptr<const Graph>> import_bytes(core::ByteView bytes,
                                                  std::shared_ptr<const void> owner) {
  ExternalFiles files;
  return import({bytes, std::move(owner)}, files);
}

}  // namespace commensal::graph::onnx
