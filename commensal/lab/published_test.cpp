// SPDX-License-Identifier: Apache-2.0
// The published hashes of whole networks (tests/vectors/models.json): they change only with the
// version of the numeric specification, and every path gives them.
#include <gtest/gtest.h>

#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/testing/network_fixture.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab {
namespace {

using graph::Backend;
using graph::SessionOptions;
using testing::Tensor;
using Json = nlohmann::json;

Json vectors() {
  const auto bytes = core::read_file(testing::source("tests/vectors/models.json"));
  EXPECT_TRUE(bytes.has_value());
  return Json::parse(core::as_text(*bytes));
}

struct Published {
  std::string group, file, sha256;
  std::optional<std::vector<std::int64_t>> input_shape;
};
// Names the parameter in test lists.
void PrintTo(const Published& one, std::ostream* out) { *out << one.group << '/' << one.file; }

std::vector<Published> all_published() {
  std::vector<Published> all;
  const Json published = vectors();  // must outlive the loop
  for (const Json& item : published.at("models")) {
    Published one{item.at("group"), item.at("file"), item.at("sha256"), std::nullopt};
    if (item.contains("input_shape")) one.input_shape = item.at("input_shape");
    all.push_back(std::move(one));
  }
  return all;
}

/// Where the models of a group lie; absent where its environment variable is not set.
std::optional<core::Path> folder_of(const std::string& group) {
  if (group == "repository") return testing::source("models");
  return testing::folder_from(group.c_str());
}

// By the rule that the file of vectors states.
std::vector<Tensor> inputs_of(const graph::Graph& graph, const Published& one) {
  std::vector<Tensor> inputs;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const auto& declared = graph.values[static_cast<std::size_t>(graph.inputs[k])].declared;
    std::vector<std::int64_t> dims = declared.dims;
    for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
    if (k == 0 && one.input_shape) dims = *one.input_shape;
    const Tensor u = testing::random_batch(*tensor::Shape::of(dims), std::uint64_t{k} << 20);
    if (declared.dtype == tensor::DType::kFloat32) {
      inputs.push_back(u);
      continue;
    }
    EXPECT_EQ(declared.dtype, tensor::DType::kInt64);
    std::vector<std::int64_t> truths;
    for (const float value : u.data<float>()) truths.push_back(value < 0 ? 1 : 0);
    inputs.push_back(Tensor::of<std::int64_t>(u.shape(), truths));
  }
  return inputs;
}

std::vector<SessionOptions> all_paths() {
  std::vector<SessionOptions> paths = {{.backend = Backend::kRef}};
  for (const kernels::Isa isa : kernels::available_isas()) {
    for (const int threads : {1, 3}) paths.push_back({Backend::kCpu, isa, threads});
  }
  return paths;
}

TEST(EqualityPublished, TheVectorsAreOfThisVersion) {
  EXPECT_EQ(vectors().at("numerics_version"), kernels::kNumericsVersion);
}

class EqualityPublishedModels : public ::testing::TestWithParam<Published> {};

TEST_P(EqualityPublishedModels, GiveTheirHashOnEveryPath) {
  const auto folder = folder_of(GetParam().group);
  if (!folder) GTEST_SKIP() << GetParam().group << " names no folder";
  const auto graph = testing::load(*folder / GetParam().file);
  ASSERT_NE(graph, nullptr);
  const auto inputs = inputs_of(*graph, GetParam());
  for (const SessionOptions& options : all_paths()) {
    auto session = graph::Session::create(graph, options);
    ASSERT_TRUE(session) << session.error().message;
    const auto outputs = session->run(inputs);
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(testing::hash_of(*outputs), GetParam().sha256)
        << (options.isa ? kernels::name_of(*options.isa) : "ref") << ", " << options.threads;
  }
}
INSTANTIATE_TEST_SUITE_P(Equality, EqualityPublishedModels, ::testing::ValuesIn(all_published()));

}  // namespace
}  // namespace commensal::lab
