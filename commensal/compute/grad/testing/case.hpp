// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/grad/differentiate.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/testing/random_values.hpp>
#include <functional>

/// Small graphs whose gradients are known twice: by the rules, and by differences.
namespace commensal::grad::testing {

using Dims = std::vector<std::int64_t>;
using graph::ValueId;
using kernels::Attributes;
using tensor::DType;
using tensor::Tensor;

/// A list of attributes, written as in the specification.
Attributes with(std::initializer_list<Attributes::Named> all);
inline std::int64_t integer(std::int64_t value) { return value; }

/// What a recipe writes its graph with. The same seed gives the same elements in every type.
class Case {
 public:
  enum class Form {
    kNarrow,     // binary32
    kWide,       // binary64
    kReference,  // binary64, of operators that compute in it
  };
  Case(std::uint64_t seed, Form form) : form_(form), draw_(seed, 91) {}

  kernels::testing::Draw& draw() { return draw_; }
  bool is_reference() const { return form_ == Form::kReference; }
  DType dtype() const { return form_ == Form::kNarrow ? DType::kFloat32 : DType::kFloat64; }

  /// An input with a gradient.
  ValueId in(const Dims& dims, float least = -2, float most = 2);
  ValueId fixed(const Dims& dims, float least = -2, float most = 2);
  ValueId integers(const Dims& dims, const std::vector<std::int64_t>& values);
  ValueId random_integers(const Dims& dims, std::int64_t most);
  ValueId number(float value) { return constant_of({}, {value}); }
  /// A list of these.
  ValueId fixed_of(const std::vector<float>& values) {
    return constant_of({static_cast<std::int64_t>(values.size())}, values);
  }
  ValueId op(std::string_view name, std::vector<ValueId> inputs, Attributes attributes = {},
             int opset = 18) {
    return maker_.node(name, std::move(inputs), std::move(attributes), opset);
  }
  std::vector<ValueId> ops(std::string_view name, std::vector<ValueId> inputs, int outputs,
                           Attributes attributes = {}, int opset = 18) {
    return maker_.node_of(name, std::move(inputs), std::move(attributes), opset, outputs);
  }
  /// Random dimensions of `rank`, each of [1, most].
  Dims dims(int rank, std::int64_t most = 4);

  /// The loss: all elements of these, each times a number of its own.
  core::Result<void> finish(const std::vector<ValueId>& outputs);

  const graph::Graph& graph() { return maker_.graph(); }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  Wanted wanted();

 private:
  ValueId constant_of(const Dims& dims, const std::vector<float>& values);
  Tensor tensor_of(const Dims& dims, const std::vector<float>& values) const;
  std::vector<float> random(const Dims& dims, float least, float most);

  Form form_;
  kernels::testing::Draw draw_;
  graph::testing::GraphMaker maker_;
  std::vector<Tensor> inputs_;
  ValueId loss_ = graph::kAbsent;
};

struct Recipe {
  std::string name;
  /// Returns what the loss is made of.
  std::function<std::vector<ValueId>(Case&)> write;
  bool is_wide = true;  // whether the operator takes binary64
  /// How far binary32 may be from the truth, of 1 plus the largest gradient of the input.
  double tolerance = 2e-5;
  int seeds = 5;
};

/// Central differences in binary64 against the gradients in binary64 (to 1e-6) and in binary32; and
/// those bit for bit by ref/ and by cpu/, on every instruction set, with 1 to 4 threads.
void check(const Recipe& recipe);

}  // namespace commensal::grad::testing
