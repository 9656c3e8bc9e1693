// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/http/rollout_body.hpp>
#include <utility>

namespace commensal::http {
namespace {

TEST(OipRequest, SaysOfItsSequenceAndWhereItsTensorsLie) {
  const std::string place =
      R"({"shared_memory_region":"r","shared_memory_offset":64,"shared_memory_byte_size":8})";
  const std::string text =
      R"({"parameters":{"sequence_id":7,"sequence_start":true,"priority":1,"timeout":5},)"
      R"("inputs":[{"name":"x","datatype":"FP32","shape":[2],"parameters":)" +
      place + R"(}],"outputs":[{"name":"y","parameters":)" + place + "}]}";
  const auto body = read_infer_body(core::as_bytes(text), std::nullopt);
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->sequence.id, "7");
  EXPECT_TRUE(body->sequence.is_start);
  EXPECT_EQ(body->priority, 1u);
  ASSERT_EQ(body->placed.size(), 1u);
  EXPECT_EQ(body->placed[0].from.region, "r");
  EXPECT_EQ(body->placed[0].from.offset, 64);
  EXPECT_EQ(body->placed[0].type.text(), "float32[2]");
  ASSERT_TRUE(body->outputs[0].place.has_value());
  EXPECT_EQ(body->outputs[0].place->bytes, 8);
}

// The same text that gRPC would bring, since it is fed to the model.
TEST(OipRequest, ReadsTheIdOfASequenceAsItIsMeant) {
  const auto id_of = [](std::string_view id) {
    const std::string text = fmt::format(R"({{"parameters":{{"sequence_id":{}}}}})", id);
    const auto body = read_infer_body(core::as_bytes(text), std::nullopt);
    return body ? body->sequence.id : "refused: " + body.error().message;
  };
  for (const auto& [id, expected] : {std::pair("0", ""),
                                     {R"("")", ""},
                                     {R"("a-b")", "a-b"},
                                     {R"("say \"hi\"")", "say \"hi\""},
                                     {R"("a\u0062c")", "abc"},
                                     {"18446744073709551615", "18446744073709551615"},
                                     {"-3", "-3"}}) {
    EXPECT_EQ(id_of(id), expected);
  }
  for (const char* bad : {"true", R"({"x":1})", "1.5", "null", "18446744073709551616", "[1]"})
    EXPECT_TRUE(id_of(bad).starts_with("refused: ")) << id_of(bad);
}

TEST(OipRequest, SaysOfWhichPrivacyClassItIs) {
  const auto class_of = [](std::string_view said) {
    const std::string text = fmt::format(R"({{"parameters":{{"privacy_class":{}}}}})", said);
    const auto body = read_infer_body(core::as_bytes(text), std::nullopt);
    return body ? body->privacy_class : "refused: " + body.error().message;
  };
  EXPECT_EQ(class_of(R"("medical")"), "medical");
  for (const char* bad : {R"("")", "7", "null", R"("Medical")"})
    EXPECT_TRUE(class_of(bad).starts_with("refused: ")) << class_of(bad);
}

// Who says it wrongly is told so: the inputs would go to anybody.
TEST(OipRequest, RefusesAPrivacyClassWhereItIsNotRead) {
  const auto refusal = [](const std::string& text) {
    const auto body = read_infer_body(core::as_bytes(text), std::nullopt);
    return body ? "" : body.error().message;
  };
  const std::string input = R"("name":"x","datatype":"FP32","shape":[1],"data":[1])";
  EXPECT_EQ(refusal(R"({"parameters":{"other":"medical"},"other":1,"inputs":[{)" + input + "}]}"),
            "");
  for (const std::string name : {"privacy-class", "Privacy_class", "privacyClass"}) {
    const std::string said = "\"" + name + "\":\"medical\"";
    EXPECT_NE(refusal(R"({"parameters":{)" + said + "}}"), "") << name;
    EXPECT_NE(refusal("{" + said + "}"), "") << name;
  }
  const std::string said = R"("privacy_class":"medical")";
  const std::vector<std::string> wrong = {
      "{" + said + "}", R"({"inputs":[{)" + input + "," + said + "}]}",
      R"({"inputs":[{)" + input + R"(,"parameters":{)" + said + "}}]}",
      R"({"outputs":[{"name":"y",)" + said + "}]}",
      R"({"outputs":[{"name":"y","parameters":{)" + said + "}}]}"};
  for (const std::string& text : wrong) {
    EXPECT_NE(refusal(text).find("'privacy_class' is not read here: a privacy class is named by "),
              std::string::npos)
        << text;
  }
}

TEST(RolloutBodies, SayOfWhichPrivacyClassTheyAre) {
  const auto read = [](std::string_view said) {
    const std::string body = fmt::format(
        R"({{"model":"a/b","steps":2,{}"inputs":[{{"name":"x","datatype":"FP32","shape":[1],)"
        R"("data":[1]}}]}})",
        said);
    return read_rollout_body(core::as_bytes(body), {});
  };
  EXPECT_EQ(read("")->privacy_class, "");
  EXPECT_EQ(read(R"("privacy_class":"medical",)")->privacy_class, "medical");
  EXPECT_FALSE(read(R"("privacy_class":"",)"));
  EXPECT_FALSE(read(R"("privacy-class":"medical",)"));
}

TEST(RolloutJson, NamesThePrivacyClassThatItIsOf) {
  gateway::RolloutStatus status;
  EXPECT_NE(rollout_json(status).find(R"("privacy_class":null,)"), std::string::npos);
  status.entry.privacy_class = "medical";
  EXPECT_NE(rollout_json(status).find(R"("privacy_class":"medical",)"), std::string::npos);
}

TEST(RolloutJson, HasAReasonsCodeWhereThereIsOne) {
  gateway::RolloutStatus status;
  EXPECT_EQ(rollout_json(status).find("reason_code"), std::string::npos);
  status.entry.reason_code = gateway::kNotFinite;
  EXPECT_NE(rollout_json(status).find(R"("reason":"","reason_code":"not-finite","steps_done")"),
            std::string::npos);
}

}  // namespace
}  // namespace commensal::http
