// SPDX-License-Identifier: Apache-2.0
// The published hashes of whole networks (tests/vectors/models.json): they change only with the
// version of the numeric specification.
#include <gtest/gtest.h>

#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/network_fixture.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab {
namespace {

using Json = nlohmann::json;

Json vectors() {
  const auto bytes = core::read_file(testing::source("tests/vectors/models.json"));
  EXPECT_TRUE(bytes.has_value());
  return Json::parse(core::as_text(*bytes));
}

/// Where the models of a group lie; absent where its environment variable is not set.
std::optional<core::Path> folder_of(const std::string& group) {
  if (group == "repository") return testing::source("models");
  return testing::folder_from(group.c_str());
}

TEST(EqualityPublished, TheVectorsAreOfThisVersion) {
  EXPECT_EQ(vectors().at("numerics_version"), kernels::kNumericsVersion);
}

class EqualityPublishedModels : public ::testing::TestWithParam<const char*> {};

TEST_P(EqualityPublishedModels, GiveTheirPublishedHashes) {
  const std::string group = GetParam();
  const auto folder = folder_of(group);
  if (!folder) GTEST_SKIP() << group << " names no folder";
  const Json published = vectors();  // must outlive the loop
  int checked = 0;
  for (const Json& item : published.at("models")) {
    if (item.at("group") != group) continue;
    ++checked;
    const std::string file = item.at("file");
    const auto graph = testing::load(*folder / file);
    ASSERT_NE(graph, nullptr);
    const auto dims = item.at("input_shape").get<std::vector<std::int64_t>>();
    const auto outputs = testing::run(graph, testing::random_batch(*tensor::Shape::of(dims), 0));
    EXPECT_EQ(testing::hash_of(outputs), item.at("sha256")) << file;
  }
  EXPECT_GT(checked, 0);
}
INSTANTIATE_TEST_SUITE_P(Equality, EqualityPublishedModels,
                         ::testing::Values("repository", "COMMENSAL_MODELS", "COMMENSAL_DATA"));

}  // namespace
}  // namespace commensal::lab
