// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/onnx/functions.hpp>
#include <commensal/compute/graph/onnx/structure.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <map>
#include <set>

namespace commensal::graph::onnx {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

using Attribute = ::onnx::AttributeProto;
using Function = ::onnx::FunctionProto;
using GraphProto = ::onnx::GraphProto;
using NodeProto = ::onnx::NodeProto;
using Names = std::map<std::string, std::string>;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

std::string text_of(const Function& function) {
  return fmt::format("function '{}'", one_line(function.name()));
}

/// What a body's names and attributes stand for in one call.
struct Binding {
  Names names;
  std::map<std::string, const Attribute*> attributes;
  std::string prefix;

  std::string renamed(const std::string& name) const {
    if (name.empty()) return name;
    const auto found = names.find(name);
    return found == names.end() ? prefix + name : found->second;
  }
};

class Inliner {
 public:
  explicit Inliner(::onnx::ModelProto& model) : model_(model) {}

  Result<void> run() {
    for (const auto& import : model_.opset_import()) {
      opsets_[normal_domain(import.domain())] = import.version();
    }
    for (const Function& function : model_.functions()) {
      COMMENSAL_TRY(check_opsets(function));
      const std::pair key(normal_domain(function.domain()), function.name());
      if (!functions_.emplace(key, &function).second) {
        return fail(ErrorCode::kInvalidArgument, "the {} is defined twice", text_of(function));
      }
    }
    return expand_graph(*model_.mutable_graph());
  }

 private:
  // A body's nodes are taken as the model's: its opsets must be the same.
  Result<void> check_opsets(const Function& function) const {
    for (const auto& import : function.opset_import()) {
      const auto own = opsets_.find(normal_domain(import.domain()));
      if (own == opsets_.end() || own->second == import.version()) continue;
      return fail(ErrorCode::kUnsupported,
                  "the {} imports opset {} of domain '{}', expected the model's {}",
                  text_of(function), import.version(), one_line(import.domain()), own->second);
    }
    return {};
  }

  Result<void> expand_graph(GraphProto& graph) {
    Nodes expanded;
    COMMENSAL_TRY(expand_nodes(graph.node(), expanded));
    graph.mutable_node()->Swap(&expanded);
    return {};
  }

  Result<void> expand_nodes(const Nodes& nodes, Nodes& out) {
    for (int i = 0; i < nodes.size(); ++i) {
      const auto function =
          functions_.find(std::pair(normal_domain(nodes[i].domain()), nodes[i].op_type()));
      auto expanded = function == functions_.end() ? keep(nodes[i], out)
                                                   : expand_call(nodes[i], *function->second, out);
      if (!expanded) return core::in_context(place_of(nodes[i], i), expanded.error());
    }
    return {};
  }

  Result<void> keep(const NodeProto& node, Nodes& out) {
    if (++nodes_ > limits::kGraphNodesMax) {
      return fail(ErrorCode::kResourceExhausted, "more than {} nodes once functions are expanded",
                  limits::kGraphNodesMax);
    }
    NodeProto* kept = out.Add();
    *kept = node;
    for (Attribute& attribute : *kept->mutable_attribute()) {
      if (attribute.has_g()) COMMENSAL_TRY(expand_graph(*attribute.mutable_g()));
    }
    return {};
  }

  Result<void> expand_call(const NodeProto& call, const Function& function, Nodes& out) {
    if (!open_.insert(&function).second) {
      return fail(ErrorCode::kInvalidArgument, "the {} calls itself", text_of(function));
    }
    COMMENSAL_ASSIGN(const Binding binding, bind(call, function));
    Nodes body;
    for (const NodeProto& node : function.node()) {
      NodeProto* made = body.Add();
      *made = node;
      made->set_name(binding.prefix + name_of(node, body.size() - 1));
      for (std::string& name : *made->mutable_input()) name = binding.renamed(name);
      for (std::string& name : *made->mutable_output()) name = binding.renamed(name);
      COMMENSAL_TRY(bind_attributes(*made, binding, {}));
    }
    COMMENSAL_TRY(expand_nodes(body, out));
    open_.erase(&function);
    return {};
  }

  Result<Binding> bind(const NodeProto& call, const Function& function) {
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
      return fail(ErrorCode::kInvalidArgument, "{} inputs and {} outputs, the {} has {} and {}",
                  call.input_size(), call.output_size(), text_of(function), function.input_size(),
                  function.output_size());
    }
    Binding binding;
    binding.prefix = fmt::format("{}:{}/", one_line(function.name()), ++calls_);
    for (int i = 0; i < function.input_size(); ++i) {
      binding.names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    for (int i = 0; i < call.output_size(); ++i) {
      if (!call.output(i).empty()) binding.names[function.output(i)] = call.output(i);
    }
    for (const Attribute& given : call.attribute()) binding.attributes[given.name()] = &given;
    return binding;
  }

  // `own`: the names that the graphs around the node, within the body, define themselves.
  static Result<void> bind_attributes(NodeProto& node, const Binding& binding,
                                      const std::set<std::string>& own) {
    google::protobuf::RepeatedPtrField<Attribute> bound;
    for (Attribute& attribute : *node.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) {
        if (attribute.has_g()) COMMENSAL_TRY(bind_graph(*attribute.mutable_g(), binding, own));
        *bound.Add() = attribute;
        continue;
      }
      const auto given = binding.attributes.find(attribute.ref_attr_name());
      if (given == binding.attributes.end()) continue;  // an optional attribute that is not given
      Attribute* made = bound.Add();
      *made = *given->second;
      made->set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&bound);
    return {};
  }

  static Result<void> bind_graph(GraphProto& graph, const Binding& binding,
                                 std::set<std::string> own) {
    for (const auto& input : graph.input()) own.insert(input.name());
    for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
    for (const NodeProto& node : graph.node()) {
      own.insert(node.output().begin(), node.output().end());
    }
    const auto rename = [&](std::string& name) {
      if (!own.contains(name)) name = binding.renamed(name);
    };
    for (NodeProto& node : *graph.mutable_node()) {
      for (std::string& name : *node.mutable_input()) rename(name);
      COMMENSAL_TRY(bind_attributes(node, binding, own));
    }
    for (auto& output : *graph.mutable_output()) rename(*output.mutable_name());
    return {};
  }

  ::onnx::ModelProto& model_;
  std::map<std::string, std::int64_t> opsets_;
  std::map<std::pair<std::string, std::string>, const Function*> functions_;
  std::set<const Function*> open_;  // being expanded
  int nodes_ = 0, calls_ = 0;
};

}  // namespace

Result<void> inline_functions(::onnx::ModelProto& model) {
  if (model.functions_size() == 0) return {};
  COMMENSAL_TRY(Inliner(model).run());
  model.clear_functions();
  return {};
}

}  // namespace commensal::graph::onnx
