// SPDX-License-Identifier: Apache-2.0
// Privacy classes as consumers and owners of models meet them, over real sockets.
#include <gmock/gmock.h>

#include <commensal/base/core/file.hpp>
#include <nlohmann/json.hpp>
#include <thread>

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
  /// Of the provider that is started next, for an hour.
  void vouch(const std::string& privacy_class) {
    protocol::PrivacyStatement statement;
    statement.provider = world_.provider_address();
    statement.privacy_class = privacy_class;
    statement.valid_until_ms = static_cast<std::uint64_t>(world_.clock().wall_ms()) + 3'600'000;
    world_.statements.push_back(protocol::sign_statement(auditor_, statement));
  }
  static Json inputs() {
    const auto made = picture(1);
    const auto pixels = made[0].value.data<float>();
    return Json::array({{{"name", "image"},
                         {"datatype", "FP32"},
                         {"shape", {1, 1, 8, 8}},
                         {"data", std::vector<float>(pixels.begin(), pixels.end())}}});
  }
  /// "" where it was answered.
  std::string ask(std::uint32_t version = 0) {
    const auto answer = alice_.infer(kModel, version, picture(1));
    return answer ? "" : answer.error().message;
  }
  /// The same network in another file.
  void push_next(const std::string& privacy_class = "") {
    core::Bytes bytes = digits_model();
    const core::Bytes producer = {0x12, 1, 'x'};  // ModelProto.producer_name: the last one counts
    bytes.insert(bytes.end(), producer.begin(), producer.end());
    client::PushRequest request;
    request.model = kModel;
    request.bytes = bytes;
    request.privacy_class = privacy_class;
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

TEST_F(HttpPrivacy, AVersionIsPushedWithItsClass) {
  world_.start_provider();
  push_next("medical");
  EXPECT_EQ(ask(1), "");
  for (const std::uint32_t version : {0u, 2u})
    EXPECT_THAT(ask(version), HasSubstr("has no statement of class 'medical'")) << version;
  EXPECT_EQ(class_of(2), "medical");
  EXPECT_FALSE(alice_.get_json("/v2/models/alice%2Fdigits/ready"));  // nobody may answer
  EXPECT_TRUE(alice_.get_json("/v2/models/alice%2Fdigits/versions/1/ready"));
  push_next("legal");  // the same file again
  EXPECT_EQ(class_of(2), "legal");
  EXPECT_THAT(ask(), HasSubstr("has no statement of class 'legal'"));
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

TEST_F(HttpPrivacy, AnswerAndReceiptNameTheClass) {
  vouch("medical");
  world_.start_provider();
  const auto said = [&](const std::string& privacy_class) {
    const std::string text =
        Json({{"inputs", inputs()},
              {"parameters",
               privacy_class.empty() ? Json::object() : Json({{"privacy_class", privacy_class}})}})
            .dump();
    const auto answer =
        alice_.post("/v2/models/alice%2Fdigits/infer", "application/json", core::as_bytes(text));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? Json::parse(*answer).at("parameters") : Json::object();
  };
  EXPECT_FALSE(said("").contains("privacy_class"));
  const Json named = said("medical");
  EXPECT_EQ(named.value("privacy_class", ""), "medical");
  const Json receipt =
      Json::parse(*alice_.get_json("/v1/receipts/" + named.value("commensal_receipt", "")));
  EXPECT_EQ(receipt.at("privacy_class"), "medical");
  const auto answer = alice_.infer(kModel, 0, picture(1), {}, "medical");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->privacy_class, "medical");
  const auto other = alice_.infer(kModel, 0, picture(1), {}, "legal");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("has no statement of class 'legal'"));
  configure(1, parameter("privacy_class", "medical"));
  EXPECT_EQ(said("").value("privacy_class", ""), "medical") << "its model's";
}

TEST_F(HttpPrivacy, RolloutsAreOfAClassToo) {
  vouch("medical");
  world_.start_provider();
  const core::Bytes model = *core::read_file(COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx");
  client::PushRequest request;
  request.model = "alice/letters";
  request.bytes = model;
  ASSERT_TRUE(alice_.push(request));
  const std::vector<std::int64_t> letter = {20};
  const std::vector<float> state(160, 0);
  client::RolloutOrder order;
  order.model = "alice/letters";
  order.steps = 2;
  order.feeds = {{"next", "letter"}, {"state_out", "state"}};
  order.inputs = {{"letter", tensor::Tensor::of<std::int64_t>({1}, letter)},
                  {"state", tensor::Tensor::of<float>({1, 160}, state)}};
  order.privacy_class = "medical";
  auto made = alice_.start_rollout(order);
  for (int tries = 0; !made && made.error().code == ErrorCode::kUnavailable && tries < 200;
       ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until its statements are known
    made = alice_.start_rollout(order);
  }
  ASSERT_TRUE(made) << made.error().message;
  const auto said = [&](const core::Digest& id) {
    return Json::parse(*alice_.get_json("/v1/rollouts/" + core::to_hex(id))).at("privacy_class");
  };
  EXPECT_EQ(said(made->id), "medical");
  order.privacy_class = "legal";
  const auto other = alice_.start_rollout(order);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("has no statement of class 'legal'"));
  order.privacy_class = "";
  const auto open = alice_.start_rollout(order);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_TRUE(said(open->id).is_null());
  ASSERT_TRUE(alice_.configure("alice/letters", 1, parameter("privacy_class", "legal"), {}));
  const auto of_model = alice_.start_rollout(order);
  ASSERT_FALSE(of_model);
  EXPECT_THAT(of_model.error().message, HasSubstr("has no statement of class 'legal'"));
}

// It would be a private request to who asks, and a public one to the gateway.
TEST_F(HttpPrivacy, AClassThatIsSaidWronglyIsRefused) {
  world_.start_provider();
  const auto post = [&](const std::string& query, const Json& more) {
    Json body = {{"inputs", inputs()}};
    body.update(more);
    const std::string text = body.dump();
    return alice_.post("/v2/models/alice%2Fdigits/infer" + query, "application/json",
                       core::as_bytes(text));
  };
  EXPECT_TRUE(post("?other=1", {{"parameters", {{"other", "medical"}}}}));
  const Json none = Json::object();
  for (const auto& refused :
       {post("", {{"parameters", {{"privacy-class", "medical"}}}}),
        post("", {{"parameters", {{"Privacy_class", "medical"}}}}),
        post("", {{"privacy_class", "medical"}}), post("?privacy_class=medical", none)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("is not read here: a privacy class is named"));
  }
  const auto rollout =
      alice_.post("/v1/rollouts?privacy_class=medical", "application/json", core::as_bytes("{}"));
  ASSERT_FALSE(rollout);
  EXPECT_THAT(rollout.error().message, HasSubstr("'privacy_class' is not read here"));
  const auto set = alice_.configure(kModel, 1, parameter("privacy-class", "medical"), {});
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("'privacy-class' is not read here"));
  const auto loaded = load(R"({"parameters":{"privacy_class":"medical"}})");
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("'privacy_class' is not read here"));
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
