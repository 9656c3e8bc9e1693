// SPDX-License-Identifier: Apache-2.0
// Weights that stay in the model's file, wherever in it they lie.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/compute/graph/onnx/testing/model_maker.hpp>
#include <commensal/compute/graph/session.hpp>

namespace commensal::graph::onnx::testing {
namespace {

constexpr std::int64_t kWidth = 1500;  // 18 kB of weights: enough to be left in the file

/// y = Gemm(x, W) with W's bytes moved by a longer name.
std::string model_with_weights(std::size_t name_bytes, bool transposed) {
  auto model = empty_model();
  auto* gemm = add_node(model, "Gemm", {"x", std::string(name_bytes, 'w')}, {"y"});
  auto* attribute = gemm->add_attribute();
  attribute->set_name("transB");
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(transposed ? 1 : 0);
  const std::vector<std::int64_t> dims = {transposed ? kWidth : 3, transposed ? 3 : kWidth};
  auto* weights = add_initialiser(model, std::string(name_bytes, 'w'), dims);
  for (std::int64_t i = 0; i < 3 * kWidth; ++i) {
    const float value = core::counter_symmetric_f32(1, 0, static_cast<std::uint64_t>(i));
    weights->mutable_raw_data()->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  auto* type = model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(1)->set_dim_value(kWidth);
  return model.SerializeAsString();
}

std::vector<float> outputs_of(const core::Result<std::shared_ptr<const Graph>>& graph,
                              Backend backend) {
  if (!graph) return {};
  auto session = Session::create(*graph, {.backend = backend});
  const std::vector<float> x = {1, -2, 3, -4, 5, -6};
  const std::vector given = {tensor::Tensor::of<float>({2, 3}, x)};
  const auto made =
      session ? session->run(given)
              : core::Result<std::vector<tensor::Tensor>>(tl::unexpected(session.error()));
  if (!made) return {};
  const auto data = made->front().data<float>();
  return {data.begin(), data.end()};
}

TEST(MappedWeights, GiveTheSameBitsWhereverTheyLie) {
  const core::Path path = core::Path(::testing::TempDir()) / "commensal_mapped_weights.onnx";
  for (const bool transposed : {false, true}) {
    for (std::size_t name_bytes = 1; name_bytes <= 4; ++name_bytes) {
      const std::string text = model_with_weights(name_bytes, transposed);
      ASSERT_TRUE(core::write_file_atomically(path, core::as_bytes(text)));
      const auto expected = outputs_of(import_text(text), Backend::kRef);
      ASSERT_EQ(expected.size(), static_cast<std::size_t>(2 * kWidth));
      EXPECT_EQ(outputs_of(import_file(path), Backend::kRef), expected) << name_bytes;
      EXPECT_EQ(outputs_of(import_file(path), Backend::kCpu), expected) << name_bytes;
    }
  }
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
