// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {
namespace {

/// With so many bytes of names of inputs.
gateway::ModelPtr model(const std::string& name, std::size_t bytes) {
  auto made = std::make_shared<gateway::ModelVersion>();
  made->name = name;
  made->inputs.push_back({std::string(bytes, 'x'), {}});
  return made;
}

std::size_t listed(const std::vector<gateway::ModelPtr>& models) {
  const std::string text = models_json(models);
  EXPECT_LE(text.size(), limits::kHttpListBytesMax + (models.empty() ? 0 : 1'024) +
                             (models.empty() ? 0 : models.front()->inputs.front().name.size()));
  return nlohmann::json::parse(text).at("models").size();
}

TEST(ModelsJson, TakesAsManyAsFitAndOneAtLeast) {
  EXPECT_EQ(listed({}), 0U);
  EXPECT_EQ(listed(std::vector<gateway::ModelPtr>(1'000, model("a/b", 15'000))), 4U);
  EXPECT_EQ(listed({model("a/b", limits::kHttpListBytesMax), model("a/c", 1)}), 1U);
  EXPECT_EQ(listed({model("a/b", 1), model("a/c", 1)}), 2U);
}

TEST(ReceiptJson, NamesThePrivacyClassThatItIsOf) {
  gateway::ReceiptRecord record;
  for (const bool is_whole : {false, true}) {
    const auto said = [&] {
      const std::string text = is_whole ? receipt_json(record) : listed_receipt_json(record);
      return nlohmann::json::parse(text).at("privacy_class");
    };
    record.privacy_class.reset();
    EXPECT_TRUE(said().is_null());
    record.privacy_class = "medical";
    EXPECT_EQ(said(), "medical");
  }
}

}  // namespace
}  // namespace commensal::http
