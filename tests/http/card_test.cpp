// SPDX-License-Identifier: Apache-2.0
// What owners say of their models, and who finds it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_cards.hpp>
#include <nlohmann/json.hpp>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using core::ErrorCode;
using Json = nlohmann::json;
using ::testing::HasSubstr;

class HttpCard : public ::testing::Test {
 protected:
  static std::string example() {
    const auto bytes = core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "examples/digits.md");
    return std::string(core::as_text(*bytes));
  }
  static Json get(client::Client& client, const std::string& target) {
    const auto text = client.get_json(target);
    EXPECT_TRUE(text) << target << ": " << text.error().message;
    return text ? Json::parse(*text) : Json();
  }
  static core::Result<std::string> put(client::Client& client, const std::string& source,
                                       const std::string& model = "alice/digits") {
    return client.send("PUT", "/v1/models/" + model + "/card", "text/markdown",
                       core::as_bytes(source));
  }
  void push_private(const std::string& name) {
    const core::Bytes bytes = digits_model();
    client::PushRequest request;
    request.model = name;
    request.bytes = bytes;
    request.is_private = true;
    ASSERT_TRUE(alice_.push(request));
  }

  World world_{std::string("card-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name()};
  client::Client alice_ = world_.client(world_.alice);
  client::Client bob_ = world_.client(world_.bob);
  client::Client root_ = world_.client(world_.root);
  client::Client anyone_ = world_.client("");
};

TEST_F(HttpCard, IsKeptShownAndDeleted) {
  EXPECT_EQ(anyone_.get_json("/v1/models/alice/digits/card").error().message,
            "'alice/digits' has no card");
  const auto set = put(alice_, example());
  ASSERT_TRUE(set) << set.error().message;
  const Json shown = get(anyone_, "/v1/models/alice/digits/card");
  EXPECT_EQ(shown, Json::parse(*set));
  EXPECT_EQ(shown["model"], "alice/digits");
  EXPECT_EQ(shown["source"], example());
  EXPECT_TRUE(shown["text"].get<std::string>().starts_with("# Handwritten digits\n"));
  EXPECT_EQ(shown["problem"], nullptr);
  const Json& card = shown["card"];
  EXPECT_EQ(card["license"], "Apache-2.0");
  EXPECT_EQ(card["parent"], "");
  EXPECT_EQ(card["task"], "image-classification");
  EXPECT_EQ(card["tags"], Json({"digits", "grayscale"}));
  EXPECT_EQ(card["labels"].size(), 10u);
  EXPECT_EQ(card["picture"], Json::parse(R"({"input":"image","size":[8,8],"resize":"pad",
      "layout":"NCHW","colour":"gray","scale":1.0,"mean":[0.0,0.0,0.0],"std":[1.0,1.0,1.0]})"));
  EXPECT_EQ(card["output"], Json::parse(R"({"name":"logits","softmax":true,"top_k":3})"));
  EXPECT_EQ(card["example"]["input"], "image");
  EXPECT_EQ(bob_.remove("/v1/models/alice/digits/card").error().code, ErrorCode::kPermissionDenied);
  ASSERT_TRUE(root_.remove("/v1/models/alice/digits/card"));
  EXPECT_EQ(alice_.remove("/v1/models/alice/digits/card").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(anyone_.card("alice/digits")->has_value());
}

TEST_F(HttpCard, ThatLiesOrIsNoneIsRefusedInOneLine) {
  const std::string head = "---\ncommensal:\n";
  const std::pair<std::string, const char*> bad[] = {
      {head + "  picture: {input: picture}\n---\n", "no input 'picture', but 'image'"},
      {head + "  picture: {size: [16, 16]}\n---\n", "does not fit 'image'"},
      {head + "  labels: [one, two]\n---\n", "2 labels are not as many as 'logits'"},
      {head + "  output: {name: scores}\n---\n", "no output 'scores'"},
      {head + "  labels: *all\n---\n", "front matter"},
      {head, "no line '---' ends it"},
      {"\xff", "UTF-8"}};
  for (const auto& [source, why] : bad) {
    const auto set = put(alice_, source);
    ASSERT_FALSE(set) << source;
    EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(set.error().message, HasSubstr(why));
    EXPECT_EQ(set.error().message.find('\n'), std::string::npos);
  }
  EXPECT_THAT(put(alice_, std::string(limits::kCardBytesMax + 1, 'x')).error().message,
              HasSubstr("at most 65536"));
  EXPECT_EQ(put(bob_, example()).error().code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(put(anyone_, example()));
  EXPECT_EQ(put(alice_, example(), "alice/nothing").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(anyone_.card("alice/digits")->has_value());
}

TEST_F(HttpCard, ExploreFindsWhatOneMaySee) {
  push_private("alice/secret");
  ASSERT_TRUE(put(alice_, example()));
  ASSERT_TRUE(put(alice_, "---\npipeline_tag: secret-task\n---\nOf worth.\n", "alice/secret"));
  for (client::Client* stranger : {&anyone_, &bob_}) {
    const Json all = get(*stranger, "/v1/explore");
    ASSERT_EQ(all["models"].size(), 1u);
    EXPECT_EQ(get(*stranger, "/v1/explore?query=worth")["models"].size(), 0u);
    EXPECT_EQ(get(*stranger, "/v1/explore?task=secret-task")["models"].size(), 0u);
    EXPECT_EQ(stranger->get_json("/v1/models/alice/secret/card").error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(stranger->get_json("/v1/models/alice/secret/speed").error().code,
              ErrorCode::kNotFound);
  }
  EXPECT_EQ(get(alice_, "/v1/explore?query=worth")["models"][0]["name"], "alice/secret");
  const Json one = get(anyone_, "/v1/explore?query=handwritten%20DIGIT&modality=image&count=1");
  ASSERT_EQ(one["models"].size(), 1u);
  EXPECT_EQ(one["next"], nullptr);
  const Json& model = one["models"][0];
  EXPECT_EQ(model["name"], "alice/digits");
  EXPECT_EQ(model["task"], "image-classification");
  EXPECT_EQ(model["private"], false);
  EXPECT_THAT(model["summary"], HasSubstr("reads one handwritten digit"));
  EXPECT_EQ(model["inputs"][0]["name"], "image");
  EXPECT_EQ(model["outputs"][0]["datatype"], "FP32");
  EXPECT_EQ(model["served"], 0);
  const Json first = get(alice_, "/v1/explore?count=1&sort=newest");
  EXPECT_EQ(first["models"][0]["name"], "alice/secret");
  const Json second =
      get(alice_, "/v1/explore?count=1&sort=newest&after=" + first["next"].get<std::string>());
  EXPECT_EQ(second["models"][0]["name"], "alice/digits");
  EXPECT_EQ(second["next"], nullptr);
  for (const char* bad : {"?count=0", "?count=101", "?sort=size", "?after=x", "?tsak=x"})
    EXPECT_EQ(anyone_.get_json(std::string("/v1/explore") + bad).error().code,
              ErrorCode::kInvalidArgument)
        << bad;
}

TEST_F(HttpCard, ADeletedModelsCardIsGone) {
  ASSERT_TRUE(put(alice_, example()));
  ASSERT_TRUE(alice_.remove_model("alice/digits"));
  EXPECT_EQ(anyone_.get_json("/v1/models/alice/digits/card").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(get(anyone_, "/v1/explore?query=handwritten")["models"].size(), 0u);
  const core::Bytes bytes = digits_model();
  client::PushRequest request;
  request.model = "alice/digits";
  request.bytes = bytes;
  ASSERT_TRUE(alice_.push(request));
  EXPECT_FALSE(alice_.card("alice/digits")->has_value());
}

TEST_F(HttpCard, SpeedAndAnswersAreMeasured) {
  EXPECT_EQ(get(anyone_, "/v1/models/alice/digits/speed"), Json({{"devices", Json::array()}}));
  world_.start_provider();
  int answers = 0;
  for (std::uint64_t i = 0; i < 200 && answers < 3; ++i) {
    if (alice_.infer("alice/digits", 0, picture(i))) ++answers;
  }
  ASSERT_EQ(answers, 3);
  const Json speed = get(anyone_, "/v1/models/alice/digits/speed");
  ASSERT_EQ(speed["devices"].size(), 1u);
  EXPECT_EQ(speed["devices"][0]["device"], "cpu");
  EXPECT_EQ(speed["devices"][0]["provider"], crypto::to_text(world_.provider_address()));
  EXPECT_GT(speed["devices"][0]["ms"], 0);
  EXPECT_GE(speed["devices"][0]["answers"], 1);
  EXPECT_EQ(get(anyone_, "/v1/explore?sort=used")["models"][0]["served"], 3);
  // Another model of that name has given none of them.
  ASSERT_TRUE(alice_.remove_model("alice/digits"));
  const core::Bytes bytes = digits_model();
  client::PushRequest request;
  request.model = "alice/digits";
  request.bytes = bytes;
  ASSERT_TRUE(alice_.push(request));
  EXPECT_EQ(get(anyone_, "/v1/explore?sort=used")["models"][0]["served"], 0);
}

TEST_F(HttpCard, TheClientReadsIt) {
  const auto set = alice_.set_card("alice/digits", example());
  ASSERT_TRUE(set) << set.error().message;
  const auto card = bob_.card("alice/digits");
  ASSERT_TRUE(card && *card);
  EXPECT_EQ((*card)->labels.at(3), "three");
  EXPECT_EQ((*card)->picture->height, 8);
  EXPECT_EQ((*card)->picture->colour, "gray");
  EXPECT_EQ((*card)->output->top_k, 3);
  EXPECT_EQ((*card)->problem, "");
  const auto found = bob_.explore({.query = "digits & more?", .task = "", .modality = ""});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->models.empty());
  const auto digits = bob_.explore({.query = "digits", .task = "image-classification"});
  ASSERT_TRUE(digits);
  ASSERT_EQ(digits->models.size(), 1u);
  EXPECT_EQ(digits->models[0].license, "Apache-2.0");
}

TEST(ClientCards, ThatMakeNoSenseAreRefused) {
  const auto is_read = [](const char* text) {
    return client::read_card(core::as_bytes(std::string_view(text))).has_value();
  };
  EXPECT_TRUE(is_read(R"({"card":{}})"));
  EXPECT_TRUE(is_read(R"({"card":{"picture":{"scale":1,"mean":[0,0,0],"std":[1,1,1]}}})"));
  for (const char* bad :
       {"", "[]", "{}", R"({"card":[]})", R"({"card":{"labels":[1]}})",
        R"({"card":{"picture":{}}})", R"({"card":{"picture":{"scale":1,"mean":[0],"std":1}}})",
        R"({"card":{"picture":{"size":[0,1],"scale":1,"mean":[0,0,0],"std":[1,1,1]}}})"})
    EXPECT_FALSE(is_read(bad)) << bad;
  EXPECT_FALSE(client::read_found(core::as_bytes(std::string_view("{}"))));
  EXPECT_TRUE(client::read_found(core::as_bytes(std::string_view(R"({"models":[]})"))));
}

}  // namespace
}  // namespace commensal::tests
