// SPDX-License-Identifier: Apache-2.0
// Whole networks: every back end, instruction set, number of threads and batch size gives the bits
// of ref/ on one sample.
#include <gtest/gtest.h>

#include <commensal/lab/testing/network_fixture.hpp>

namespace commensal::lab {
namespace {

using graph::Backend;
using graph::SessionOptions;
using testing::folder_from;
using testing::hash_of;
using testing::Tensor;
using GraphPtr = std::shared_ptr<const graph::Graph>;

constexpr int kThreadsMax = 4;
constexpr std::int64_t kBatchMax = 8;

std::vector<SessionOptions> fast_variants() {
  std::vector<SessionOptions> variants;
  for (const kernels::Isa isa : kernels::available_isas()) {
    for (int threads = 1; threads <= kThreadsMax; ++threads) {
      variants.push_back({Backend::kCpu, isa, threads});
    }
  }
  return variants;
}

std::string text_of(const SessionOptions& options) {
  return fmt::format("{}, {} threads", kernels::name_of(*options.isa), options.threads);
}

void expect_variants_equal(const GraphPtr& graph, const Tensor& input) {
  ASSERT_NE(graph, nullptr);
  const std::string judged = hash_of(testing::run(graph, input, {.backend = Backend::kRef}));
  for (const SessionOptions& options : fast_variants()) {
    EXPECT_EQ(hash_of(testing::run(graph, input, options)), judged) << text_of(options);
  }
}

Tensor row(const Tensor& batch, std::int64_t index) {
  const auto dims = batch.shape().dims();
  std::vector<std::int64_t> one(dims.begin(), dims.end());
  one[0] = 1;
  const tensor::TensorType type{batch.dtype(), *tensor::Shape::of(one)};
  const auto bytes = static_cast<std::size_t>(type.bytes());
  return Tensor::copy_of(type,
                         batch.bytes().subspan(static_cast<std::size_t>(index) * bytes, bytes));
}

// Row b of every batch is what ref/ says of sample b alone. `sample` is its shape, batch of 1.
void expect_batches_equal(const GraphPtr& graph, const tensor::Shape& sample,
                          const std::vector<SessionOptions>& variants) {
  ASSERT_NE(graph, nullptr);
  std::vector<std::string> alone;
  for (std::int64_t b = 0; b < kBatchMax; ++b) {
    const Tensor input = testing::random_batch(sample, static_cast<std::uint64_t>(b));
    alone.push_back(hash_of(testing::run(graph, input, {.backend = Backend::kRef})));
  }
  std::vector<std::int64_t> dims(sample.dims().begin(), sample.dims().end());
  for (dims[0] = 1; dims[0] <= kBatchMax; ++dims[0]) {
    const Tensor input = testing::random_batch(*tensor::Shape::of(dims), 0);
    for (const SessionOptions& options : variants) {
      const auto outputs = testing::run(graph, input, options);
      ASSERT_EQ(outputs.size(), 1u);
      for (std::int64_t b = 0; b < dims[0]; ++b) {
        EXPECT_EQ(hash_of({row(outputs[0], b)}), alone[static_cast<std::size_t>(b)])
            << "batch " << dims[0] << ", sample " << b;
      }
    }
  }
}

TEST(EqualityNetworks, Digits) {
  const auto graph = testing::load(testing::source("models/digits/digits.onnx"));
  auto variants = fast_variants();
  variants.push_back({.backend = Backend::kRef});
  expect_batches_equal(graph, {1, 1, 8, 8}, variants);
}

class EqualityClassics : public ::testing::TestWithParam<const char*> {};

TEST_P(EqualityClassics, AllVariants) {
  const auto folder = folder_from("COMMENSAL_MODELS");
  if (!folder) GTEST_SKIP() << "COMMENSAL_MODELS names no folder of classic networks";
  const auto graph = testing::load(*folder / fmt::format("{}.onnx", GetParam()));
  expect_variants_equal(graph, testing::random_batch({1, 3, 224, 224}, 0));
}
INSTANTIATE_TEST_SUITE_P(Equality, EqualityClassics,
                         ::testing::Values("alexnet", "squeezenet", "resnet18"));

class EqualityBatches : public ::testing::TestWithParam<const char*> {};

TEST_P(EqualityBatches, OneToEight) {
  const auto folder = folder_from("COMMENSAL_MODELS");
  if (!folder) GTEST_SKIP() << "COMMENSAL_MODELS names no folder of classic networks";
  std::vector<SessionOptions> variants;
  for (const kernels::Isa isa : kernels::available_isas()) {
    variants.push_back({Backend::kCpu, isa, 2});
  }
  const auto graph = testing::load(*folder / fmt::format("{}.onnx", GetParam()));
  expect_batches_equal(graph, {1, 3, 224, 224}, variants);
}
INSTANTIATE_TEST_SUITE_P(Equality, EqualityBatches,
                         ::testing::Values("alexnet", "squeezenet", "resnet18"));

class EqualityData : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(EqualityData, AllVariants) {
  const auto folder = folder_from("COMMENSAL_DATA");
  if (!folder) GTEST_SKIP() << "COMMENSAL_DATA names no folder of test data";
  const auto graph = testing::load(*folder / GetParam().first);
  ASSERT_NE(graph, nullptr);
  expect_variants_equal(graph, testing::picture(*graph, *folder / GetParam().second, 127, 128));
}
INSTANTIATE_TEST_SUITE_P(
    Equality, EqualityData,
    ::testing::Values(std::pair("ultraface/version-RFB-320.onnx", "ultraface/1.jpg"),
                      std::pair("ultraface/version-slim-320.onnx", "ultraface/8.jpg"),
                      std::pair("ultraface/version-RFB-640.onnx", "ultraface/22.jpg"),
                      std::pair("mnist/opt-mnist.onnx", "mnist/7.jpg")));

}  // namespace
}  // namespace commensal::lab
