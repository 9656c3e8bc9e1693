// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/grad/maker.hpp>

namespace commensal::grad {

using core::ErrorCode;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

const TensorType& Value::type() const { return maker->type(id); }

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBfloat16;
}

kernels::Attributes attributes_of(std::initializer_list<kernels::Attributes::Named> all) {
  kernels::Attributes made;
  for (const auto& [name, value] : all) made.set(name, value);
  return made;
}

namespace {

/// Of what is made after an error: rules take it apart as if it had the rank that they expect.
const TensorType& nothing() {
  static const TensorType kNothing = [] {
    const std::vector<std::int64_t> ones(limits::kRankMax, 1);
    return TensorType{DType::kFloat32, *tensor::Shape::of(ones)};
  }();
  return kNothing;
}

}  // namespace

Maker::Maker(graph::Graph graph, graph::optimise::Known known, Room room)
    : graph_(std::move(graph)),
      room_(room),
      types_(known.types.begin(), known.types.end()),
      constants_(std::move(known.constants)),
      zeros_(limits::kStandInBytesMax) {
  types_.resize(graph_.values.size());
}

std::optional<TensorType> Maker::known_type(ValueId id) const {
  return id == kAbsent ? std::nullopt : types_[static_cast<std::size_t>(id)];
}

const TensorType& Maker::type(ValueId id) const {
  if (id == kAbsent) return nothing();
  const auto& known = types_[static_cast<std::size_t>(id)];
  return known ? *known : nothing();
}

const Tensor* Maker::constant(ValueId id) const {
  const auto found = constants_.find(id);
  return found == constants_.end() ? nullptr : &found->second;
}

std::optional<Dims> Maker::integers(ValueId id) const {
  const Tensor* const known = constant(id);
  if (known == nullptr) return std::nullopt;
  const auto values = [&]<class T>() {
    return Dims(known->data<T>().begin(), known->data<T>().end());
  };
  if (known->dtype() == DType::kInt64) return values.template operator()<std::int64_t>();
  if (known->dtype() == DType::kInt32) return values.template operator()<std::int32_t>();
  return std::nullopt;
}

void Maker::fail(core::Error error) {
  if (!error_) error_ = std::move(error);
}

core::Result<void> Maker::state() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

ValueId Maker::fresh(std::string_view prefix, const TensorType& type) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  if (room_.values-- <= 0) {
    fail({ErrorCode::kResourceExhausted, "what its gradients take is too large a graph"});
  }
  graph_.values.push_back({fmt::format("{}_{}", prefix, id), {}});
  types_.emplace_back(type);
  return id;
}

Value Maker::input(std::string name, const TensorType& type) {
  const ValueId id = fresh("input", type);
  graph::ValueInfo& info = graph_.values.back();
  info.name = std::move(name);
  info.declared.dtype = type.dtype;
  info.declared.ranked = true;
  info.declared.dims.assign(type.shape.dims().begin(), type.shape.dims().end());
  info.declared.symbols.resize(info.declared.dims.size());
  graph_.inputs.push_back(id);
  return value(id);
}

tensor::Shape Maker::shape(const Dims& dims) {
  const auto made = tensor::Shape::of(dims);
  if (made) return *made;
  fail({ErrorCode::kResourceExhausted,
        fmt::format("what its gradients take is too large: {}", made.error().message)});
  return nothing().shape;
}

bool Maker::has_room_for(std::int64_t elements, DType dtype) {
  const bool fits = elements <= room_.constant_bytes / tensor::traits(dtype).size;
  if (!fits) {
    fail({ErrorCode::kResourceExhausted, "what its gradients take has too large constants"});
  }
  return fits && !error_;
}

Value Maker::constant(Tensor made) {
  const ValueId id = fresh("grad_constant", made.type());
  if (!has_room_for(made.elements(), made.dtype())) return value(id);
  room_.constant_bytes -= made.type().bytes();
  constants_.emplace(id, made);
  graph_.initialisers.emplace(id, std::move(made));
  return value(id);
}

Value Maker::list(const Dims& values) {
  const auto found = lists_.find(values);
  if (found != lists_.end()) return value(found->second);
  const Value made =
      constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  lists_.emplace(values, made.id);
  return made;
}

Value Maker::number(double number, DType dtype) {
  const auto found = numbers_.find({number, dtype});
  if (found != numbers_.end()) return value(found->second);
  Value made;
  if (dtype == DType::kFloat64) {
    made = constant(Tensor::of<double>({}, std::span<const double>(&number, 1)));
  } else if (dtype == DType::kFloat32) {
    const auto narrow = static_cast<float>(number);
    made = constant(Tensor::of<float>({}, std::span<const float>(&narrow, 1)));
  } else {
    made = cast(this->number(number, DType::kFloat64), dtype);
  }
  numbers_.emplace(std::pair(number, dtype), made.id);
  return made;
}

Tensor Maker::zeros_of(const TensorType& type) {
  auto zeros = zeros_.of(type);
  if (zeros) return *std::move(zeros);
  fail({ErrorCode::kResourceExhausted, fmt::format("{} is too large", type.text())});
  return tensor::stand_in(type);
}

Value Maker::more_output(graph::Node& node, const TensorType& type) {
  const ValueId id = fresh("grad_more", type);
  node.outputs.push_back(id);
  return value(id);
}

std::vector<Value> Maker::add_many(std::string_view op, const std::vector<Value>& inputs,
                                   kernels::Attributes attributes, std::size_t outputs) {
  graph::Node node;
  const auto found = kernels::find_operator("", op, kOpset);
  core::check(found.has_value(), "a gradient is made of operators of the table");
  node.op = *found;
  node.opset = kOpset;
  node.attributes = std::move(attributes);
  for (const Value& input : inputs) node.inputs.push_back(input.id);
  std::vector<Value> made;
  for (std::size_t i = 0; i < outputs; ++i) {
    made.push_back(value(fresh("grad", nothing())));
    node.outputs.push_back(made.back().id);
  }
  node.name = fmt::format("Grad{}_{}", op, node.outputs.front());
  keep(std::move(node));
  return made;
}

std::vector<Value> Maker::add_node(graph::Node node) {
  std::vector<Value> made;
  for (ValueId& output : node.outputs) {
    output = fresh("grad", nothing());
    made.push_back(value(output));
  }
  node.name = fmt::format("{}_{}", node.name, node.outputs.front());
  if (!node.subgraphs.empty() || node.op->judge->infer == nullptr) {
    fail({ErrorCode::kUnsupported,
          fmt::format("{} '{}': no gradient leads through it", node.op->name, node.name)});
  }
  keep(std::move(node));
  return made;
}

Value Maker::add(std::string_view op, const std::vector<Value>& inputs,
                 kernels::Attributes attributes) {
  return add_many(op, inputs, std::move(attributes), 1)[0];
}

void Maker::keep(graph::Node node) {
  if (!error_) infer(node);
  if (!error_) graph_.nodes.push_back(std::move(node));
}

void Maker::infer(graph::Node& node) {
  std::vector<Tensor> typed(node.inputs.size());
  std::vector<const Tensor*> inputs(node.inputs.size());
  kernels::Call call;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    inputs[i] = constant(node.inputs[i]);
    if (inputs[i] != nullptr) continue;
    typed[i] = zeros_of(type(node.inputs[i]));
    inputs[i] = &typed[i];
    call.unknown.bits |= kernels::Places::bit(i);
  }
  if (error_) return;
  call.opset = node.opset;
  call.attributes = &node.attributes;
  call.inputs = inputs;
  call.output_count = static_cast<int>(node.outputs.size());
  auto types = node.op->judge->infer(call);
  if (!types)
    return fail({types.error().code,
                 fmt::format("its gradient's {}: {}", node.op->name, types.error().message)});
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (tensor::traits((*types)[i].dtype).size == 0) {
      return fail(
          {ErrorCode::kUnsupported,
           fmt::format("its gradient's {}: its type is not known before it runs", node.op->name)});
    }
    types_[static_cast<std::size_t>(node.outputs[i])] = (*types)[i];
  }
}

}  // namespace commensal::grad
