// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/graph/optimise/match.hpp>
#include <commensal/compute/graph/optimise/optimise.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/testing/random_values.hpp>

/// For tests: a graph as it is and as it is rewritten gives the same bits.
namespace commensal::graph::optimise::testing {

using Ints = std::vector<std::int64_t>;

inline kernels::Attributes with(const std::string& name, kernels::Attribute value) {
  kernels::Attributes made;
  made.set(name, std::move(value));
  return made;
}

inline ValueId number_of(graph::testing::GraphMaker& maker, float x) {
  return maker.constant(tensor::Tensor::of<float>({}, std::span(&x, 1)));
}

inline std::vector<std::uint8_t> bytes_of(const std::shared_ptr<const Graph>& graph,
                                          const std::vector<tensor::Tensor>& inputs,
                                          const SessionOptions& options) {
  auto session = Session::create(graph, options);
  EXPECT_TRUE(session.has_value());
  const auto outputs = session->run(inputs);
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  std::vector<std::uint8_t> all;
  if (!outputs) return all;
  for (const tensor::Tensor& output : *outputs) {
    all.insert(all.end(), output.bytes().begin(), output.bytes().end());
  }
  return all;
}

/// The rewritten graph gives ref/'s bits on every instruction set, on 1 to 3 threads, for inputs of
/// every kind. Returns how many nodes of the operator of that role it has.
inline std::ptrdiff_t expect_same(const graph::testing::GraphMaker& maker, Role role) {
  const auto graph = maker.finish();
  std::vector<tensor::TensorType> types;
  for (const ValueId id : graph->inputs) {
    const Declared& declared = graph->values[static_cast<std::size_t>(id)].declared;
    types.push_back({declared.dtype, *tensor::Shape::of(declared.dims)});
  }
  const auto fused = optimised(*graph, types);
  EXPECT_NE(fused, nullptr);
  if (fused == nullptr) return 0;
  for (const auto blend : {kernels::testing::Blend::kPlain, kernels::testing::Blend::kSpecial,
                           kernels::testing::Blend::kWild}) {
    kernels::testing::Draw draw(7, static_cast<std::uint64_t>(blend));
    std::vector<tensor::Tensor> inputs;
    for (const auto& type : types) {
      inputs.push_back(kernels::testing::random_of(draw, type.dtype, type.shape, blend));
    }
    const auto expected = bytes_of(graph, inputs, {.backend = Backend::kRef});
    for (const kernels::Isa isa : kernels::available_isas()) {
      for (int threads = 1; threads <= 3; ++threads) {
        SCOPED_TRACE(fmt::format("{} threads={}", kernels::name_of(isa), threads));
        EXPECT_EQ(bytes_of(graph, inputs, {.isa = isa, .threads = threads}), expected);
      }
    }
  }
  return std::ranges::count_if(fused->nodes, [&](const Node& node) { return is(node, role); });
}

/// The same, and there are `count` of them.
inline void expect_fused(const graph::testing::GraphMaker& maker, Role role, std::ptrdiff_t count) {
  EXPECT_EQ(expect_same(maker, role), count);
}

}  // namespace commensal::graph::optimise::testing
