// SPDX-License-Identifier: Apache-2.0
// Models that say wrong things of their outputs: what they say is not believed.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>

namespace commensal::graph {
namespace {

using namespace testing;
using tensor::DType;
using tensor::Tensor;
using Ints = std::vector<std::int64_t>;

void declare(GraphMaker& maker, ValueId id, Ints dims, DType dtype = DType::kFloat32) {
  Declared& declared = maker.graph().values[static_cast<std::size_t>(id)].declared;
  declared.dtype = dtype;
  declared.ranked = true;
  declared.symbols.assign(dims.size(), "");
  declared.dims = std::move(dims);
}

/// -1, 1, -2, 2, ...: none equals another, nor its magnitude.
Tensor distinct(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(i % 2 == 0 ? -1 - i / 2 : 1 + i / 2));
  }
  return Tensor::of<float>({count}, values);
}

/// Runs it on both back ends, twice: all bits are the same. `type`: of the first output.
void expect(const GraphMaker& maker, const std::vector<Tensor>& inputs,
            const tensor::TensorType& type) {
  std::vector<Tensor> first;
  for (const Backend backend : {Backend::kRef, Backend::kCpu}) {
    SessionOptions options;
    options.backend = backend;
    auto session = Session::create(maker.finish(), options);
    ASSERT_TRUE(session) << session.error().message;
    for (int i = 0; i < 2; ++i) {
      const auto outputs = session->run(inputs);
      ASSERT_TRUE(outputs) << outputs.error().message;
      EXPECT_EQ((*outputs)[0].type().text(), type.text());
      if (first.empty()) first = *outputs;
      for (std::size_t k = 0; k < first.size(); ++k) {
        EXPECT_EQ((*outputs)[k].type(), first[k].type());
        EXPECT_TRUE(std::ranges::equal((*outputs)[k].bytes(), first[k].bytes()))
            << "output " << k << " of run " << i;
      }
    }
  }
}

TEST(Declared, OutputsAreOfTheirOwnTypes) {
  for (const auto& [real, declared] : {std::pair{1, 1 << 20}, {1 << 12, 1}}) {
    GraphMaker relu;
    const ValueId y = relu.node("Relu", {relu.input({real})});
    declare(relu, y, {declared});
    relu.output(y);
    expect(relu, {distinct(real)}, {DType::kFloat32, {real}});
  }
  GraphMaker product;
  const ValueId y = product.node("MatMul", {product.input({64, 64}), product.floats({64, 64})});
  declare(product, y, {1, 1});
  product.output(y);
  expect(product, {distinct(64 * 64).reshaped({64, 64})}, {DType::kFloat32, {64, 64}});
}

TEST(Declared, WhatOnlyDataTellsIsToldByIt) {
  GraphMaker found;
  const ValueId places = found.node("NonZero", {found.input({4})});
  declare(found, places, {1, 2}, DType::kInt64);
  found.output(places);
  expect(found, {distinct(4)}, {DType::kInt64, {1, 4}});

  GraphMaker window;
  const ValueId w = window.node("HannWindow", {window.input({}, DType::kInt64)});
  declare(window, w, {8});
  window.output(w);
  for (const std::int64_t length : {3, 20}) {
    expect(window, {Tensor::of<std::int64_t>({}, std::array{length})}, {DType::kFloat32, {length}});
  }
}

TEST(Declared, OutputsOfBranchesToo) {
  for (const std::int64_t declared : {1, 1 << 20}) {
    GraphMaker branch;
    const ValueId y = branch.node("Relu", {branch.input({-1})});
    declare(branch, y, {declared});
    branch.output(y);
    GraphMaker maker;
    const ValueId when = maker.input({}, DType::kBool), x = maker.input({4});
    const ValueId chosen = maker.node("If", {when});
    maker.graph().nodes.back().subgraphs = {{"then_branch", branch.finish(), {x}},
                                            {"else_branch", branch.finish(), {x}}};
    declare(maker, chosen, {declared});
    maker.output(chosen);
    const bool truth = true;
    expect(maker, {Tensor::of<bool>({}, std::span(&truth, 1)), distinct(4)},
           {DType::kFloat32, {4}});
  }
}

TEST(Declared, WhatIsJoinedLiesWhereItFits) {
  GraphMaker maker;
  const ValueId x = maker.input({1024});
  const ValueId a = maker.node("Relu", {x}), b = maker.node("Abs", {x});
  kernels::Attributes axis;
  axis.set("axis", std::int64_t{0});
  const ValueId y = maker.node("Concat", {a, b}, axis);
  declare(maker, a, {1024});
  declare(maker, b, {1024});
  declare(maker, y, {16});
  for (const ValueId id : {y, a, b}) maker.output(id);
  expect(maker, {distinct(1024)}, {DType::kFloat32, {2048}});
}

}  // namespace
}  // namespace commensal::graph
