// SPDX-License-Identifier: Apache-2.0
// Privacy classes as consumers and owners of models meet them, over real sockets.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kModel = "alice/digits";

class HttpPrivacy : public ::testing::Test {
 protected:
  static std::string parameter(const std::string& name, const std::string& value) {
    return fmt::format("parameters {{ key: \"{}\" value {{ string_value: \"{}\" }} }}", name,
                       value);
  }
  void configure(std::uint32_t version, const std::string& config) {
    const auto set = alice_.configure(kModel, version, config, {});
    ASSERT_TRUE(set) << set.error().message;
  }
  /// Of a version, as it is shown; "": of none.
  std::string class_of(std::uint32_t version) {
    const Json config = Json::parse(
        *alice_.get_json(fmt::format("/v2/models/alice%2Fdigits/versions/{}/config", version)));
    const Json parameters = config.value("parameters", Json::object());
    return parameters.contains("privacy_class")
               ? parameters.at("privacy_class").at("string_value").get<std::string>()
               : "";
  }
  core::Result<std::string> load(const std::string& body) {
    return alice_.post("/v2/repository/models/alice%2Fdigits/load", "application/json",
                       core::as_bytes(body));
  }
  /// "" where it was answered.
  std::string ask(std::uint32_t version = 0) {
    const auto answer = alice_.infer(kModel, version, picture(1));
    return answer ? "" : answer.error().message;
  }
  /// The same network in another file.
  void push_next() {
    core::Bytes bytes = digits_model();
    const core::Bytes producer = {0x12, 1, 'x'};  // ModelProto.producer_name: the last one counts
    bytes.insert(bytes.end(), producer.begin(), producer.end());
    client::PushRequest request;
    request.model = kModel;
    request.bytes = bytes;
    const auto pushed = alice_.push(request);
    ASSERT_TRUE(pushed) << pushed.error().message;
    ASSERT_EQ(pushed->version, 2u);
  }

  core::CounterRng rng_{11};
  const crypto::SecretKey auditor_ = crypto::SecretKey::generate(rng_);
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name(),
               nullptr,
               {},
               false,
               "",
               {},
               {{"medical", {auditor_.address()}}, {"legal", {auditor_.address()}}}};
  client::Client alice_ = world_.client(world_.alice);
};

TEST_F(HttpPrivacy, ANewVersionIsOfItsModelsClassFromItsFirstMomentOn) {
  world_.start_provider();
  EXPECT_EQ(ask(), "");
  configure(1, parameter("privacy_class", "medical"));
  push_next();
  for (const std::uint32_t version : {0u, 1u, 2u})
    EXPECT_THAT(ask(version), HasSubstr("has no statement of class 'medical'")) << version;
  EXPECT_EQ(class_of(2), "medical");
  configure(2, parameter("other", "7"));
  EXPECT_THAT(ask(2), HasSubstr("has no statement of class 'medical'"));
  configure(2, parameter("privacy_class", "legal"));
  EXPECT_THAT(ask(2), HasSubstr("has no statement of class 'legal'"));
  EXPECT_THAT(ask(1), HasSubstr("has no statement of class 'medical'"));
  configure(2, parameter("privacy_class", ""));
  EXPECT_EQ(ask(2), "");
  EXPECT_EQ(class_of(2), "");
  EXPECT_EQ(class_of(1), "medical");
}

TEST_F(HttpPrivacy, ALoadWithoutAConfigurationTakesNoClassAway) {
  world_.start_provider();
  const std::string with = Json({{"parameters",
                                  {{"config", R"({"parameters":{"privacy_class":)"
                                              R"({"string_value":"medical"}}})"}}}})
                               .dump();
  ASSERT_TRUE(load(with));
  EXPECT_THAT(ask(), HasSubstr("has no statement of class 'medical'"));
  ASSERT_TRUE(load("{}"));
  EXPECT_THAT(ask(), HasSubstr("has no statement of class 'medical'"));
  EXPECT_EQ(class_of(1), "medical");
}

TEST_F(HttpPrivacy, AModelOfAClassThatNobodyVouchesForSaysSo) {
  world_.start_provider();
  const std::string ready = "/v2/models/alice%2Fdigits/ready";
  EXPECT_TRUE(alice_.get_json(ready));
  configure(1, parameter("privacy_class", "tax"));
  const std::string why =
      "it is of the privacy class 'tax', about which this gateway believes no auditor";
  const auto refused = alice_.get_json(ready);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr(why));
  EXPECT_THAT(ask(), HasSubstr(why));
  EXPECT_TRUE(world_.client("").ready()) << "others are served";
}

}  // namespace
}  // namespace commensal::tests
