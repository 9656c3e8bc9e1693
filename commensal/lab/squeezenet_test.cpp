// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/squeezenet.hpp>
#include <commensal/lab/testing/network_fixture.hpp>

namespace commensal::lab {
namespace {

using testing::Tensor;

TEST(Squeezenet, IsTheNetworkThatTheScriptWrites) {
  const auto folder = testing::folder_from("COMMENSAL_MODELS");
  if (!folder) GTEST_SKIP() << "COMMENSAL_MODELS names no folder";
  const auto bytes = std::make_shared<const core::Bytes>(squeezenet(1));
  const auto ours = graph::onnx::import_bytes(*bytes, bytes);
  ASSERT_TRUE(ours) << ours.error().message;
  std::vector<float> pixels(3 * 224 * 224);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = core::counter_symmetric_f32(9, 0, i);
  const Tensor picture = Tensor::of<float>({1, 3, 224, 224}, pixels);
  const auto seen = testing::run(*ours, picture);
  const auto expected = testing::run(testing::load(*folder / "squeezenet.onnx"), picture);
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(core::to_hex(crypto::sha256(seen[0].bytes())),
            core::to_hex(crypto::sha256(expected[0].bytes())));
}

}  // namespace
}  // namespace commensal::lab
