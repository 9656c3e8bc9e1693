// SPDX-License-Identifier: Apache-2.0
// Of which class a request is: as it says, or as its model is configured.
#include <gmock/gmock.h>

#include <commensal/serve/oip/privacy.hpp>

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

core::Result<ModelConfig> configured(std::string_view text) {
  COMMENSAL_ASSIGN(const std::string kept, read_config(text));
  const core::ByteView bytes = core::as_bytes(kept);
  return config_of(model(), {.config = {bytes.begin(), bytes.end()}, .override = {}, .files = {}});
}

TEST(PrivacyClass, IsTheRequestsOrItsModels) {
  const ModelConfig any;
  EXPECT_EQ(privacy_class_of(any, "m", ""), "");
  EXPECT_EQ(privacy_class_of(any, "m", "medical"), "medical");
  const auto config =
      configured(R"(parameters { key: "privacy_class" value { string_value: "medical" } })");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(privacy_class_of(*config, "m", ""), "medical");
  EXPECT_EQ(privacy_class_of(*config, "m", "medical"), "medical");
  EXPECT_EQ(privacy_class_of(*config, "m", "legal").error().message,
            "'m' is served to the privacy class 'medical', the request names 'legal'");
}

// Who says it means it: a name that went missing on its way takes no bar away.
TEST(PrivacyClass, HasANameWhereItIsSaid) {
  EXPECT_EQ(read_privacy_class("medical"), "medical");
  for (const char* bad : {"", "Medical"})
    EXPECT_THAT(read_privacy_class(bad).error().message,
                HasSubstr("the parameter 'privacy_class': the privacy class"));
  for (const char* bad : {"", R"(value { string_value: "" })", R"(value { string_value: "A" })"})
    EXPECT_FALSE(configured(fmt::format(R"(parameters {{ key: "privacy_class" {} }})", bad)));
  EXPECT_EQ(configured(R"(parameters { key: "other" value { string_value: "A" } })")->privacy_class,
            "");
}

}  // namespace
}  // namespace commensal::oip
