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

core::Result<EncodedAnswer> write(const InferAnswer& answer, const InferBody& request) {
  COMMENSAL_ASSIGN(const AnswerBytes bytes, answer_bytes(answer, request));
  return write_infer_answer(answer, request, bytes);
}

TEST(OipAnswer, IsJsonUnlessBinaryIsAskedFor) {
  InferBody request;
  request.id = "7";
  InferAnswer answer = an_answer();
  answer.id = request.id;
  const auto encoded = write(answer, request);
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

TEST(OipAnswer, NamesThePrivacyClassThatItIsOf) {
  InferAnswer answer = an_answer();
  const auto said = [&] { return nlohmann::json::parse(write(answer, {})->text).at("parameters"); };
  EXPECT_FALSE(said().contains("privacy_class"));
  answer.privacy_class = "medical";
  EXPECT_EQ(said().at("privacy_class"), "medical");
  EXPECT_EQ(said().size(), 3u);
}

TEST(OipAnswer, MixesBinaryAndJsonInTheOrderAskedFor) {
  InferBody request;
  request.binary_outputs = true;
  request.outputs = {{"n", false}, {"y", std::nullopt}};
  const auto encoded = write(an_answer(), request);
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
    const auto counted = answer_bytes(answer, request);
    ASSERT_TRUE(most && counted);
    const auto encoded = write_infer_answer(answer, request, *most);
    ASSERT_TRUE(encoded);
    EXPECT_LE(counted->sum(), most->sum());
    EXPECT_LE(std::ssize(encoded->text), counted->sum());
    EXPECT_LE(most->sum() - std::ssize(encoded->text), 1024);
  }
}

InferAnswer of_ones(std::int64_t elements) {
  InferAnswer answer = an_answer();
  answer.outputs[0].value =
      Tensor::of<float>({elements}, std::vector<float>(static_cast<std::size_t>(elements), 1));
  return answer;
}

TEST(OipAnswer, IsBinaryWhereJsonWouldBeTooLong) {
  InferAnswer answer = of_ones(3'000'000);
  answer.outputs[0].value =
      Tensor::of<float>({3'000'000}, std::vector<float>(3'000'000, -1.1754944e-38f));
  InferBody request;
  const auto refused = write(answer, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("\"binary_data_output\":true"), std::string::npos);
  request.binary_outputs = true;
  const auto encoded = write(answer, request);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(encoded->text.size(), *encoded->json_bytes + 12'000'000 + 8);
}

TEST(OipAnswer, TakesTheRoomOfItsTextAndNoMore) {
  const InferAnswer answer = of_ones(3'000'000);  // 48 MB, were they the longest
  const auto bytes = answer_bytes(answer, {});
  ASSERT_TRUE(bytes);
  const auto encoded = write_infer_answer(answer, {}, *bytes);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_GT(std::ssize(encoded->text), 6'000'000);
  EXPECT_LT(std::ssize(encoded->text), 6'001'000);
  EXPECT_LT(bytes->json - std::ssize(encoded->text), 2'000);
  EXPECT_LE(std::ssize(encoded->text), bytes->json);
  EXPECT_LE(static_cast<std::int64_t>(encoded->text.capacity()), bytes->json + 1);
}

TEST(OipAnswer, KnowsBeforeWhatItTakesAtLeast) {
  const InferAnswer answer = of_ones(1'000);
  const std::vector<OutputPort> ports = {
      {"y", tensor::TensorType{tensor::DType::kFloat32, {1'000}}}, {"n", std::nullopt}};
  InferBody request;
  EXPECT_EQ(answer_bytes_min(ports, request)->json, 2'001);
  EXPECT_EQ(answer_bytes_min(ports, request)->binary, 0);
  EXPECT_LE(answer_bytes_min(ports, request)->sum(), answer_bytes(answer, request)->sum());
  request.outputs = {{"y", true}, {"y", true}};
  EXPECT_EQ(answer_bytes_min(ports, request)->json, 0);
  EXPECT_EQ(answer_bytes_min(ports, request)->binary, 8'000);
  request.outputs = {{"n", std::nullopt}};
  EXPECT_EQ(answer_bytes_min(ports, request)->sum(), 0);
  request.outputs = {{"z", std::nullopt}};
  EXPECT_FALSE(answer_bytes_min(ports, request));
}

TEST(OipAnswer, RefusesAnOutputThatTheModelLacks) {
  InferBody request;
  request.outputs = {{"z", std::nullopt}};
  const auto encoded = write(an_answer(), request);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().message, "the model has no output 'z'");
}

}  // namespace
}  // namespace commensal::http
