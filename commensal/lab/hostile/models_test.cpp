// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/hostile/models.hpp>

namespace commensal::lab::hostile {
namespace {

using tensor::Tensor;

core::Result<std::vector<Tensor>> run(const core::Bytes& bytes, const Tensor& x) {
  COMMENSAL_ASSIGN(const auto graph, graph::onnx::import_bytes(bytes, nullptr));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(graph, {}));
  return session.run(std::vector<Tensor>{x});
}

TEST(HostileModels, RunAsLongAndGrowAsLargeAsTheyAreAsked) {
  const std::vector<float> one = {1};
  const auto looped = run(looping_model(3), Tensor::of<float>({1}, one));
  ASSERT_TRUE(looped) << looped.error().message;
  EXPECT_EQ(looped->at(0).data<float>()[0], 1.0F);
  const std::vector<std::int64_t> count = {1000};
  const auto grown = run(hungry_model(), Tensor::of<std::int64_t>({1}, count));
  ASSERT_TRUE(grown) << grown.error().message;
  EXPECT_EQ(grown->at(0).elements(), 1000);
  const auto filled = run(hungry_model(2), Tensor::of<std::int64_t>({1}, count));
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(filled->at(0).data<float>()[999], 2.0F);
  const auto same = run(relu_model(), Tensor::of<float>({1}, one));
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->at(0).data<float>()[0], 1.0F);
}

TEST(HostileModels, ThatSwellAreRefusedWhenTheyAreRead) {
  for (const core::Bytes& bytes : swelling_models()) {
    EXPECT_LT(bytes.size(), 3'000U);
    const auto graph = graph::onnx::import_bytes(bytes, nullptr);
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, core::ErrorCode::kResourceExhausted) << graph.error().message;
  }
}

}  // namespace
}  // namespace commensal::lab::hostile
