// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/lab/classic.hpp>
#include <commensal/lab/testing/network_fixture.hpp>

namespace commensal::lab {
namespace {

using testing::Tensor;

std::shared_ptr<const graph::Graph> graph_of(core::Bytes bytes) {
  const auto owner = std::make_shared<const core::Bytes>(std::move(bytes));
  return graph::onnx::import_bytes(*owner, owner).value();
}

std::int64_t weights_of(const graph::Graph& graph) {
  std::int64_t count = 0;
  for (const auto& [id, value] : graph.initialisers) count += value.elements();
  return count;
}

Tensor picture() {
  std::vector<float> pixels(3 * 224 * 224);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = core::counter_symmetric_f32(9, 0, i);
  return Tensor::of<float>({1, 3, 224, 224}, pixels);
}

TEST(Classic, NetworksHaveTheirWeightsAndAnswer) {
  using Make = core::Bytes (*)(std::uint64_t);
  // torchvision's resnet50 has 26,560 more: of each of its normalisations two for a channel.
  for (const auto& [make, weights] :
       {std::pair<Make, std::int64_t>{alexnet, 61'100'840}, {resnet50, 25'530'472}}) {
    const auto graph = graph_of(make(1));
    EXPECT_EQ(weights_of(*graph), weights);
    EXPECT_EQ(graph::batching_objection(*graph), "");
    const auto seen = testing::run(graph, picture());
    ASSERT_EQ(seen.size(), 1u);
    ASSERT_EQ(seen[0].type().text(), "float32[1,1000]");
    for (const float logit : seen[0].data<float>()) ASSERT_TRUE(std::isfinite(logit));
  }
}

TEST(Classic, AlexNetIsTheNetworkThatTheScriptWrites) {
  const auto folder = testing::folder_from("COMMENSAL_MODELS");
  if (!folder) GTEST_SKIP() << "COMMENSAL_MODELS names no folder";
  const auto seen = testing::run(graph_of(alexnet(1)), picture());
  const auto expected = testing::run(testing::load(*folder / "alexnet.onnx"), picture());
  ASSERT_EQ(seen.size(), expected.size());
  EXPECT_TRUE(std::ranges::equal(seen[0].bytes(), expected[0].bytes()));
}

}  // namespace
}  // namespace commensal::lab
