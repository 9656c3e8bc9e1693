// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/http/oip.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

namespace commensal::http {
namespace {

using tensor::Tensor;

InferAnswer an_answer() {
  const float y[] = {0.25f, 2.0f};
  const std::int64_t n[] = {-1};
  return {
      "a/digits", 3,
      "",         std::string(64, 'a'),
      "0x00",     {{"y", Tensor::of<float>({1, 2}, y)}, {"n", Tensor::of<std::int64_t>({1}, n)}}};
}

TEST(OipAnswer, IsJsonUnlessBinaryIsAskedFor) {
  InferBody request;
  request.id = "7";
  InferAnswer answer = an_answer();
  answer.id = request.id;
  const auto encoded = write_infer_answer(answer, request);
  ASSERT_TRUE(encoded);
  EXPECT_FALSE(encoded->json_bytes);
  const auto json = nlohmann::json::parse(encoded->text);
  EXPECT_EQ(json, (nlohmann::json::parse(
                      R"({"model_name":"a/digits","model_version":"3","id":"7","parameters":
      {"commensal_receipt":")" +
                      std::string(64, 'a') + R"(","commensal_provider":"0x00"},"outputs":[
      {"name":"y","datatype":"FP32","shape":[1,2],"data":[0.25,2]},
      {"name":"n","datatype":"INT64","shape":[1],"data":[-1]}]})")));
}

TEST(OipAnswer, MixesBinaryAndJsonInTheOrderAskedFor) {
  InferBody request;
  request.binary_outputs = true;
  request.outputs = {{"n", false}, {"y", std::nullopt}};
  const auto encoded = write_infer_answer(an_answer(), request);
  ASSERT_TRUE(encoded);
  ASSERT_TRUE(encoded->json_bytes);
  ASSERT_EQ(encoded->text.size(), *encoded->json_bytes + 8);
  const auto json = nlohmann::json::parse(encoded->text.substr(0, *encoded->json_bytes));
  EXPECT_EQ(json["outputs"][0]["name"], "n");
  EXPECT_EQ(json["outputs"][0]["data"], nlohmann::json({-1}));
  EXPECT_EQ(json["outputs"][1]["parameters"]["binary_data_size"], 8);
  EXPECT_FALSE(json["outputs"][1].contains("data"));
  float y[2];
  std::memcpy(y, encoded->text.data() + *encoded->json_bytes, 8);
  EXPECT_EQ(y[1], 2.0f);
}

TEST(OipAnswer, IsNoLongerThanItsBound) {
  InferAnswer answer = an_answer();
  answer.id = std::string(300, '\1');
  answer.outputs[1].name = std::string(300, '\2');
  for (const bool binary : {false, true}) {
    InferBody request;
    request.binary_outputs = binary;
    const auto most = answer_bytes_max(answer, request);
    const auto encoded = write_infer_answer(answer, request);
    ASSERT_TRUE(most && encoded);
    EXPECT_LE(std::ssize(encoded->text), *most);
    EXPECT_LE(*most - std::ssize(encoded->text), 1024);
  }
}

TEST(OipAnswer, IsBinaryWhereJsonWouldBeTooLong) {
  InferAnswer answer = an_answer();
  answer.outputs[0].value = Tensor::of<float>({3'000'000}, std::vector<float>(3'000'000));
  InferBody request;
  const auto refused = write_infer_answer(answer, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("\"binary_data_output\":true"), std::string::npos);
  EXPECT_FALSE(answer_bytes_max(answer, request));
  request.binary_outputs = true;
  const auto encoded = write_infer_answer(answer, request);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(encoded->text.size(), *encoded->json_bytes + 12'000'000 + 8);
}

TEST(OipAnswer, RefusesAnOutputThatTheModelLacks) {
  InferBody request;
  request.outputs = {{"z", std::nullopt}};
  const auto encoded = write_infer_answer(an_answer(), request);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().message, "the model has no output 'z'");
}

}  // namespace
}  // namespace commensal::http
