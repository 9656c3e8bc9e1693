// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/grad/maker.hpp>
#include <functional>
#include <utility>
#include <vector>

namespace commensal::grad {

/// One node on the way back: what a rule reads, and where it leaves the gradients of its inputs.
class Step {
 public:
  struct Way {                       // by ValueId
    std::vector<bool> active;        // whether a weight decides it
    std::vector<ValueId> gradients;  // so far; kAbsent: none
  };
  Step(Maker& maker, std::size_t node, Way& way) : maker_(maker), node_(node), way_(way) {}

  Maker& maker() { return maker_; }
  const graph::Node& node() const { return maker_.graph().nodes[node_]; }
  const kernels::Attributes& attributes() const { return node().attributes; }
  int opset() const { return node().opset; }

  std::size_t inputs() const { return node().inputs.size(); }
  std::size_t outputs() const { return node().outputs.size(); }
  bool has(std::size_t i) const { return i < inputs() && node().inputs[i] != kAbsent; }
  Value x(std::size_t i = 0) { return maker_.value(node().inputs[i]); }
  bool has_y(std::size_t i) const { return i < outputs() && node().outputs[i] != kAbsent; }
  Value y(std::size_t i = 0) { return maker_.value(node().outputs[i]); }
  /// An output, which the node gets where it has none; it has the ones before.
  Value y_or_more(std::size_t i, const tensor::TensorType& type);

  bool has_dy(std::size_t i) const;
  /// Zeros where the loss does not depend on it.
  Value dy(std::size_t i = 0);

  bool wants(std::size_t i) const;
  /// Adds to input i's gradient; what broadcasting repeated is summed. For nothing where nobody
  /// wants it.
  void give(std::size_t i, Value gradient);
  /// The same, made only where it is wanted.
  void give(std::size_t i, const std::function<Value()>& gradient) {
    if (wants(i)) give(i, gradient());
  }

  /// For operators that others spell out: `write` makes the outputs of the inputs (no maker:
  /// absent) once more, of operators that have gradients, and those are given. Outputs that it
  /// leaves out have none.
  void through(const std::function<std::vector<Value>(const std::vector<Value>& xs)>& write);

  /// An attribute, or what the operator takes for it; one of another type is an error.
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  double real(std::string_view name, float fallback);
  Dims integers(std::string_view name);
  std::string text(std::string_view name, std::string_view fallback);

  /// The call of its node as far as it is known ahead, zeros for what is not: what checks it says
  /// how attributes are meant. f(const kernels::Call&); its error is the maker's.
  template <class F>
  auto read_call(const F& f) {
    using Answer = typename decltype(f(std::declval<const kernels::Call&>()))::value_type;
    std::vector<tensor::Tensor> kept(inputs());
    std::vector<const tensor::Tensor*> all(inputs());
    kernels::Call call;
    fill_call(call, kept, all);
    auto answer = f(call);
    if (!answer) maker_.fail(answer.error());
    return answer ? *std::move(answer) : Answer();
  }

  /// One line that says what has no gradient.
  void refuse(std::string what);

 private:
  void fill_call(kernels::Call& call, std::vector<tensor::Tensor>& kept,
                 std::vector<const tensor::Tensor*>& all);
  template <class T>
  T value_or(core::Result<T> result) {
    if (!result) maker_.fail(result.error());
    return result ? *std::move(result) : T();
  }

  Maker& maker_;
  const std::size_t node_;
  Way& way_;
};

/// Makes the gradients of the inputs that want one. What it cannot do it refuses.
using Rule = void (*)(Step&);

}  // namespace commensal::grad
