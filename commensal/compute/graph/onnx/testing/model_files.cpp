// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <commensal/compute/graph/onnx/testing/model_files.hpp>
#include <commensal/compute/graph/onnx/testing/model_maker.hpp>

namespace commensal::graph::onnx::testing {
namespace {

void set_int(::onnx::NodeProto* node, const char* name, std::int64_t value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}

/// name = mean of all of `from`.
void add_mean(::onnx::ModelProto& model, const char* from, const char* name) {
  set_int(add_node(model, "ReduceMean", {from}, {name}), "keepdims", 0);
}

void add_whole(::onnx::ModelProto& model, const char* name, const std::vector<std::int64_t>& values,
               bool is_scalar = false) {
  const auto size = static_cast<std::int64_t>(values.size());
  const auto dims = is_scalar ? std::vector<std::int64_t>() : std::vector<std::int64_t>{size};
  auto* made = add_initialiser(model, name, dims, ::onnx::TensorProto::INT64);
  for (const std::int64_t value : values) made->add_int64_data(value);
}

/// What a turn of a loop that carries `a` is given and gives, each name followed by `suffix`.
void add_turn_ports(::onnx::GraphProto* graph, const std::string& suffix) {
  const auto port = [&](::onnx::ValueInfoProto* info, const char* name, int type) {
    info->set_name(name + suffix);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  };
  port(graph->add_input(), "turn", ::onnx::TensorProto::INT64);
  port(graph->add_input(), "before", ::onnx::TensorProto::BOOL);
  port(graph->add_input(), "a", ::onnx::TensorProto::FLOAT);
  port(graph->add_output(), "after", ::onnx::TensorProto::BOOL);
  port(graph->add_output(), "c", ::onnx::TensorProto::FLOAT);
}

/// One turn of a loop: c = tanh(a a).
void fill_turn(::onnx::GraphProto* graph) {
  graph->set_name("turn");
  add_turn_ports(graph, "");
  const auto add = [&](const char* op, const std::vector<std::string>& from, const char* to) {
    auto* node = graph->add_node();
    node->set_op_type(op);
    for (const std::string& name : from) node->add_input(name);
    node->add_output(to);
    return node;
  };
  add("Identity", {"before"}, "after");
  add("MatMul", {"a", "a"}, "b")->set_name("product");
  add("Tanh", {"b"}, "c");
}

/// A loop of one turn in a loop, and so on; the innermost adds a weight.
void fill_level(::onnx::GraphProto* graph, int levels, const std::string& name) {
  const auto named = [&](const char* what) { return fmt::format("{}_{}", what, levels); };
  graph->set_name("level");
  add_turn_ports(graph, fmt::format("_{}", levels));
  auto* on = graph->add_node();
  on->set_op_type("Identity");
  on->add_input(named("before"));
  on->add_output(named("after"));
  auto* node = graph->add_node();
  node->set_name(name);
  node->add_output(named("c"));
  node->set_op_type(levels == 0 ? "Add" : "Loop");
  if (levels == 0) {
    auto* weight = graph->add_initializer();
    weight->set_name("w");
    weight->set_data_type(::onnx::TensorProto::FLOAT);
    weight->add_dims(3);
    for (int i = 0; i < 3; ++i) weight->add_float_data(1);
    for (const std::string& from : {named("a"), std::string("w")}) node->add_input(from);
    return;
  }
  for (const std::string& from : {std::string("turns"), std::string("true"), named("a")}) {
    node->add_input(from);
  }
  auto* body = node->add_attribute();
  body->set_name("body");
  body->set_type(::onnx::AttributeProto::GRAPH);
  fill_level(body->mutable_g(), levels - 1, name);
}

/// y = x and the mean of what a loop of products makes of the mean of x, in a square.
std::string squares_file(std::int64_t turns, std::int64_t side) {
  auto model = empty_model();
  add_whole(model, "turns", {turns}, true);
  add_whole(model, "shape", {side, side});
  add_initialiser(model, "true", {}, ::onnx::TensorProto::BOOL)->add_int32_data(1);
  add_mean(model, "x", "mean");
  add_node(model, "Expand", {"mean", "shape"}, {"square"});
  auto* loop = add_node(model, "Loop", {"turns", "true", "square"}, {"last"});
  loop->set_name("loop");
  auto* body = loop->add_attribute();
  body->set_name("body");
  body->set_type(::onnx::AttributeProto::GRAPH);
  fill_turn(body->mutable_g());
  add_mean(model, "last", "one");
  add_node(model, "Add", {"x", "one"}, {"y"});
  return model.SerializeAsString();
}

}  // namespace

std::string relu_file(std::int64_t rows) {
  auto model = relu_model();
  for (auto* info :
       {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(0)->set_dim_value(rows);
  }
  return model.SerializeAsString();
}

std::string text_file() {
  auto model = empty_model(20);
  for (auto* info :
       {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::STRING);
    type->mutable_shape()->Clear();
    type->mutable_shape()->add_dim()->set_dim_param("N");
  }
  add_node(model, "StringConcat", {"x", "x"}, {"y"});
  return model.SerializeAsString();
}

std::string turns_file(std::int64_t turns) { return squares_file(turns, 4); }

std::string endless_file() { return squares_file((1 << 24) - 1, 256); }

std::string refused_file() {
  auto model = empty_model();
  add_node(model, "Add", {"x", "w"}, {"y"})->set_name("sum");
  for (auto* made = add_initialiser(model, "w", {4, 3}); made->float_data_size() < 12;)
    made->add_float_data(1);
  return model.SerializeAsString();
}

std::string slow_file() {
  auto model = empty_model();
  add_node(model, "Max", std::vector<std::string>(9, "x"), {"y"})->set_name("most");
  return model.SerializeAsString();
}

std::string nested_file(int levels, const std::string& name) {
  auto model = empty_model();
  add_whole(model, "turns", {1}, true);
  add_initialiser(model, "true", {}, ::onnx::TensorProto::BOOL)->add_int32_data(1);
  auto* loop = add_node(model, "Loop", {"turns", "true", "x"}, {"y"});
  loop->set_name(name);
  auto* body = loop->add_attribute();
  body->set_name("body");
  body->set_type(::onnx::AttributeProto::GRAPH);
  fill_level(body->mutable_g(), levels, name);
  return model.SerializeAsString();
}

std::string external_file(const std::string& location) {
  auto model = empty_model();
  add_node(model, "Add", {"x", "w"}, {"y"});
  auto* weights = add_initialiser(model, "w", {2, 3});
  weights->set_data_location(::onnx::TensorProto::EXTERNAL);
  auto* entry = weights->add_external_data();
  entry->set_key("location");
  entry->set_value(location);
  return model.SerializeAsString();
}

std::string large_inside_file() {
  auto model = empty_model();
  add_whole(model, "shape", {1000, 2, 3});
  add_node(model, "Expand", {"x", "shape"}, {"large"});
  add_mean(model, "large", "mean");
  add_node(model, "Add", {"x", "mean"}, {"y"});
  return model.SerializeAsString();
}

std::string packed_file(const std::string& name) {
  auto model = empty_model();
  model.mutable_graph()->set_name(name);
  const auto add_weights = [&](const char* weights, std::int64_t rows, std::int64_t columns) {
    auto* made = add_initialiser(model, weights, {rows, columns});
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      made->add_float_data(0.001f * static_cast<float>(i % 11));
    }
  };
  add_weights("v", 3, 600);
  add_weights("w", 600, 500);
  add_node(model, "MatMul", {"x", "v"}, {"a"});
  add_node(model, "MatMul", {"a", "w"}, {"b"});
  add_mean(model, "b", "c");
  add_node(model, "Add", {"x", "c"}, {"y"});
  return model.SerializeAsString();
}

}  // namespace commensal::graph::onnx::testing
