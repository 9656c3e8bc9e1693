// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_training.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/tensor/stand_in.hpp>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commensal::grad {

using graph::kAbsent;
using graph::ValueId;
using Dims = std::vector<std::int64_t>;

class Maker;

/// A value of the graph that is made; what follows below makes nodes, as sums are written.
struct Value {
  Maker* maker = nullptr;
  ValueId id = kAbsent;
  const tensor::TensorType& type() const;
  int rank() const { return type().shape.rank(); }
  std::int64_t dim(int axis) const { return type().shape[axis]; }
  Dims dims() const { return {type().shape.dims().begin(), type().shape.dims().end()}; }
};

/// Whether a gradient may flow through elements of that type.
bool is_float(tensor::DType dtype);

kernels::Attributes attributes_of(std::initializer_list<kernels::Attributes::Named> all);

/// How much may be added to a graph.
struct Room {
  std::int64_t values = limits::kGradientValuesMax;  // a node has one at least
  std::int64_t constant_bytes = limits::kGradientConstantBytesMax;
};

/// A graph to which nodes are added, whose types are inferred at once. The first node that refuses
/// its inputs, or finds no room, is the error of state(); what is made after it means nothing,
/// takes no room, and harms nothing: of whatever rank a rule takes it for, it has that many
/// dimensions. Thread-safety: none.
class Maker {
 public:
  /// The opset of all that is added.
  static constexpr int kOpset = 18;

  Maker(graph::Graph graph, graph::optimise::Known known, Room room = {});
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  graph::Graph& graph() { return graph_; }
  const std::string& graph_name(ValueId id) const { return graph_.name_of(id); }
  Value value(ValueId id) { return {this, id}; }
  /// None where it is not known.
  std::optional<tensor::TensorType> known_type(ValueId id) const;
  /// Good as long as the maker, whatever is added.
  const tensor::TensorType& type(ValueId id) const;
  /// Null where its elements are not known ahead.
  const tensor::Tensor* constant(ValueId id) const;
  /// Of a constant list of int64 or int32.
  std::optional<Dims> integers(ValueId id) const;

  std::vector<Value> add_many(std::string_view op, const std::vector<Value>& inputs,
                              kernels::Attributes attributes, std::size_t outputs);
  Value add(std::string_view op, const std::vector<Value>& inputs,
            kernels::Attributes attributes = {});
  /// A node as a model has it; its outputs are made anew, those that it lacks (kAbsent) too.
  std::vector<Value> add_node(graph::Node node);
  Value input(std::string name, const tensor::TensorType& type);
  Value constant(tensor::Tensor value);
  Value list(const Dims& values);
  /// One element, rounded to `dtype`.
  Value number(double value, tensor::DType dtype);
  /// An output more of a node that is there.
  Value more_output(graph::Node& node, const tensor::TensorType& type);
  ValueId fresh(std::string_view prefix, const tensor::TensorType& type);
  /// Of dimensions that a model chose: an error where together they are too many.
  tensor::Shape shape(const Dims& dims);
  /// Whether a constant may be made of so many: an error where not. To be asked before it is made.
  bool has_room_for(std::int64_t elements, tensor::DType dtype);
  /// What is left.
  const Room& room() const { return room_; }

  /// To be read, not kept: an error where it is too large.
  tensor::Tensor zeros_of(const tensor::TensorType& type);

  void fail(core::Error error);
  core::Result<void> state() const;

 private:
  void keep(graph::Node node);
  void infer(graph::Node& node);

  graph::Graph graph_;
  Room room_;
  /// Values are added while others' types are read: references stay good.
  std::deque<std::optional<tensor::TensorType>> types_;  // by ValueId
  std::map<ValueId, tensor::Tensor> constants_;
  std::map<Dims, ValueId> lists_;
  std::map<std::pair<double, tensor::DType>, ValueId> numbers_;
  std::optional<core::Error> error_;
  tensor::ZeroStandIns zeros_;
};

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
Value operator-(double a, Value b);
Value operator-(Value a);

/// A node of one input without attributes: "Exp".
Value apply(std::string_view op, Value x);
Value pow(Value x, double exponent);
/// Comparisons: bool.
Value greater(Value a, Value b);
Value greater(Value a, double b);
Value less(Value a, double b);
Value select(Value condition, Value a, Value b);
Value select(Value condition, Value a, double b);

Value reshape(Value x, const Dims& dims);
Value transpose(Value x, const Dims& order);
/// The last two axes exchanged.
Value transpose_last(Value x);
Value expand(Value x, const Dims& dims);
Value cast(Value x, tensor::DType dtype);
/// The number in every element.
Value filled(Maker& maker, double value, const tensor::TensorType& type);
Value slice(Value x, const Dims& starts, const Dims& ends, const Dims& axes);
Value concat(const std::vector<Value>& all, std::int64_t axis);

Value sum(Value x, const Dims& axes, bool keep);
Value mean(Value x, const Dims& axes, bool keep);
/// What a broadcast from `dims` repeated is added up, in the order of ReduceSum.
Value sum_to(Value x, const Dims& dims);

/// first, first + 1, ..., last - 1.
Dims range(std::int64_t first, std::int64_t last);

}  // namespace commensal::grad
