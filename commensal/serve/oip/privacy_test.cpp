// SPDX-License-Identifier: Apache-2.0
// What is said of a privacy class, by requests and by configurations.
#include <gmock/gmock.h>

#include <commensal/serve/oip/model_config.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <nlohmann/json.hpp>

namespace commensal::oip {
namespace {

using ::testing::HasSubstr;

gateway::ModelVersion model() {
  gateway::ModelPort port{.name = "x", .declared = {}};
  port.declared.dtype = tensor::DType::kFloat32;
  port.declared.ranked = true;
  port.declared.dims = {1};
  port.declared.symbols.resize(1);
  gateway::ModelVersion made;
  made.name = "a/model";
  made.inputs = made.outputs = {port};
  return made;
}

core::Result<ModelConfig> configured(std::string_view text, const std::string& of = "") {
  COMMENSAL_ASSIGN(const std::string kept, read_config(text));
  const core::ByteView bytes = core::as_bytes(kept);
  gateway::ServingConfig said{.config = {bytes.begin(), bytes.end()}, .override = {}, .files = {}};
  said.privacy_class = of;
  return config_of(model(), said);
}

/// As it is shown; "": none.
std::string shown(const core::Result<ModelConfig>& config) {
  if (!config) return "refused: " + config.error().message;
  const auto json = nlohmann::json::parse(config->json);
  const auto parameters = json.value("parameters", nlohmann::json::object());
  if (!parameters.contains("privacy_class")) return "";
  return parameters.at("privacy_class").at("string_value").get<std::string>();
}

constexpr std::string_view kMedical =
    R"(parameters { key: "privacy_class" value { string_value: "medical" } })";

TEST(PrivacyClass, OfAConfigurationIsWhatItNamesOrWhatHeldBefore) {
  EXPECT_EQ(configured("")->privacy_class, std::nullopt);
  EXPECT_EQ(configured("", "legal")->privacy_class, std::nullopt);
  EXPECT_EQ(configured(kMedical, "legal")->privacy_class, "medical");
  EXPECT_EQ(shown(configured("")), "");
  EXPECT_EQ(shown(configured("", "legal")), "legal");
  EXPECT_EQ(shown(configured(kMedical, "legal")), "medical");
  for (const char* none : {"", R"(value { string_value: "" })"}) {
    const auto config =
        configured(fmt::format(R"(parameters {{ key: "privacy_class" {} }})", none), "legal");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->privacy_class, "") << "taken away by who says so";
    EXPECT_EQ(shown(config), "");
  }
}

// Who says it means it: a name that went missing on its way takes no bar away.
TEST(PrivacyClass, HasANameWhereItIsSaid) {
  EXPECT_EQ(read_privacy_class("medical"), "medical");
  for (const char* bad : {"", "Medical"})
    EXPECT_THAT(read_privacy_class(bad).error().message,
                HasSubstr("the parameter 'privacy_class': the privacy class"));
  EXPECT_FALSE(configured(R"(parameters { key: "privacy_class" value { string_value: "A" } })"));
  EXPECT_EQ(configured(R"(parameters { key: "other" value { string_value: "A" } })")->privacy_class,
            std::nullopt);
}

TEST(PrivacyClass, IsNotTakenForAnythingElse) {
  for (const char* meant : {"privacy_class", "privacy-class", "Privacy_class", "PRIVACY_CLASS",
                            "privacyClass", "_privacy__class-"}) {
    const auto refused = check_unread(meant);
    ASSERT_FALSE(refused) << meant;
    EXPECT_EQ(refused.error().code, core::ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message,
              fmt::format("'{}' is not read here: a privacy class is named by the parameter "
                          "'privacy_class' of the request, or of the model's configuration",
                          meant));
  }
  for (const char* other : {"", "-", "privacy", "privacy_classes", "a_privacy_class", "class"})
    EXPECT_TRUE(check_unread(other)) << other;
}

TEST(PrivacyClass, OfAConfigurationHasOneName) {
  for (const char* name : {"privacy-class", "Privacy_class"}) {
    const auto config = configured(
        fmt::format(R"(parameters {{ key: "{}" value {{ string_value: "medical" }} }})", name));
    ASSERT_FALSE(config) << name;
    EXPECT_THAT(config.error().message, HasSubstr("is not read here"));
  }
  EXPECT_FALSE(configured(R"(metric_tags { key: "privacy_class" value: "medical" })"));
}

}  // namespace
}  // namespace commensal::oip
