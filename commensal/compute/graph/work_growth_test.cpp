// SPDX-License-Identifier: Apache-2.0
// The budget counts what a call does, not what the judge would do for each element alone: where
// shapes are longer operations grow as elements do, over the whole table, but for operators an
// element of which does take more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commensal::graph {
namespace {

using kernels::testing::Sample;
using kernels::testing::SampleCall;
using tensor::Tensor;

constexpr std::int64_t kTimes = 64;
constexpr std::int64_t kElementsMax = std::int64_t{1} << 20;  // of one input

/// With the same elements over and over.
std::optional<Tensor> stretched(const Tensor& from, std::int64_t dim) {
  std::vector<std::int64_t> dims(from.shape().dims().begin(), from.shape().dims().end());
  for (auto& one : dims) one *= one == dim ? kTimes : 1;
  const auto shape = tensor::Shape::of(dims);
  if (!shape || shape->elements() > kElementsMax) return std::nullopt;
  const tensor::TensorType type{from.dtype(), *shape};
  const auto bytes = from.bytes();
  std::vector<std::uint8_t> made(static_cast<std::size_t>(type.bytes()));
  for (std::size_t i = 0; i < made.size() && !bytes.empty(); ++i) made[i] = bytes[i % bytes.size()];
  return Tensor::copy_of(type, made);
}

/// Each dimension of the inputs that is `dim` several times as long.
std::optional<Sample> longer(const Sample& sample, std::int64_t dim) {
  Sample made = sample;
  for (Tensor& input : made.inputs) {
    if (!input.defined()) continue;
    auto one = stretched(input, dim);
    if (!one) return std::nullopt;
    input = *std::move(one);
  }
  return made;
}

/// An element of them takes more where a dimension is longer: their products are deeper, lines and
/// windows longer, and of scatters more updates may meet one element.
constexpr std::string_view kFaster[] = {"AffineGrid",
                                        "Attention",
                                        "Col2Im",
                                        "Conv",
                                        "ConvInteger",
                                        "ConvTranspose",
                                        "DFT",
                                        "DeformConv",
                                        "Det",
                                        "Einsum",
                                        "GRU",
                                        "Gemm",
                                        "LSTM",
                                        "LinearClassifier",
                                        "LinearRegressor",
                                        "MatMul",
                                        "MatMulInteger",
                                        "MaxRoiPool",
                                        "MaxUnpool",
                                        "QLinearConv",
                                        "QLinearMatMul",
                                        "RNN",
                                        "Resize",
                                        "RoiAlign",
                                        "STFT",
                                        "SVMClassifier",
                                        "SVMRegressor",
                                        "Scatter",
                                        "ScatterElements",
                                        "ScatterND",
                                        "Upsample"};

struct Measured {
  double ops = 0, elements = 0;
};

/// Nothing: the call is refused.
std::optional<Measured> measured(const Sample& sample) {
  SampleCall call(sample);
  if (call.op().judge->infer == nullptr || !call.infer()) return std::nullopt;
  Measured made{static_cast<double>(work_of(call.op(), call.call()).ops), 0};
  for (const Tensor& input : sample.inputs) {
    if (input.defined()) made.elements += static_cast<double>(input.elements());
  }
  for (const auto& type : call.call().outputs) {
    made.elements += static_cast<double>(type.shape.elements());
  }
  return made;
}

/// Whether all inputs can be repeated byte by byte.
bool has_plain_inputs(const Sample& sample) {
  return std::ranges::all_of(sample.inputs, [](const Tensor& input) {
    return !input.defined() || (tensor::traits(input.dtype()).size > 0 &&
                                std::cmp_equal(input.bytes().size(), input.type().bytes()));
  });
}

TEST(Work, GrowsAsElementsDo) {
  std::set<std::string> tried, faster;
  for (const Sample& sample : kernels::testing::all_samples()) {
    if (!has_plain_inputs(sample)) continue;
    const auto before = measured(sample);
    if (!before || before->ops == 0) continue;
    std::set<std::int64_t> dims;
    for (const Tensor& input : sample.inputs) {
      if (!input.defined()) continue;
      dims.insert(input.shape().dims().begin(), input.shape().dims().end());
    }
    for (const std::int64_t dim : dims) {
      const auto stretched = dim > 1 ? longer(sample, dim) : std::nullopt;
      const auto after = stretched ? measured(*stretched) : std::nullopt;
      if (!after) continue;
      tried.insert(sample.name);
      constexpr double kSlack = 4;  // of folds a tree of lanes, of windows what fits the input
      const double growth = after->elements / before->elements;
      if (after->ops / before->ops > kSlack * growth) faster.insert(sample.name);
    }
  }
  EXPECT_GT(tried.size(), 60U);
  for (const std::string_view name : kFaster) faster.erase(std::string(name));
  EXPECT_THAT(faster, ::testing::IsEmpty());
}

}  // namespace
}  // namespace commensal::graph
