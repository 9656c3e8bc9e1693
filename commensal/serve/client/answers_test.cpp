// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/client/answers.hpp>

namespace commensal::client {
namespace {

using core::ErrorCode;

HttpResponse response_of(const std::string& text, std::size_t json_bytes) {
  const core::ByteView bytes = core::as_bytes(text);
  return {.status = 200,
          .json_bytes = std::to_string(json_bytes),
          .body = {bytes.begin(), bytes.end()}};
}

std::string answer_json(const std::string& output) {
  return R"({"model_name":"a/m","model_version":"2","parameters":{"commensal_receipt":")" +
         std::string(64, '1') + R"(","commensal_provider":"0x)" + std::string(40, '0') +
         R"("},"outputs":[)" + output + "]}";
}

const std::string kOutput =
    R"({"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}})";

TEST(Answers, AreReadWithTheirTensors) {
  const std::string json = answer_json(kOutput);
  const auto answer = read_answer(response_of(json + std::string(8, '\0'), json.size()));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->model, "a/m");
  EXPECT_EQ(answer->version, 2u);
  EXPECT_EQ(answer->receipt[0], 0x11);
  EXPECT_EQ(answer->outputs[0].value.type().text(), "float32[2]");
}

TEST(Answers, NameThePrivacyClassThatWasAskedFor) {
  const auto read = [](const std::string& said, const std::string& asked) {
    std::string json = answer_json(kOutput);
    json.insert(json.find("\"commensal_provider\""), said);
    return read_answer(response_of(json + std::string(8, '\0'), json.size()), asked);
  };
  EXPECT_EQ(read("", "")->privacy_class, "");
  EXPECT_EQ(read(R"("privacy_class":"medical",)", "")->privacy_class, "medical");
  EXPECT_EQ(read(R"("privacy_class":"medical",)", "medical")->privacy_class, "medical");
  for (const char* said : {"", R"("privacy_class":"legal",)"}) {
    const auto refused = read(said, "medical");
    ASSERT_FALSE(refused) << said;
    EXPECT_EQ(
        refused.error().message,
        "the gateway knows nothing of the privacy class 'medical': any provider may have seen "
        "the inputs; the answer's receipt is " +
            std::string(64, '1'));
  }
  EXPECT_FALSE(read(R"("privacy_class":7,)", ""));
  EXPECT_NE(infer_head({}, {}, "medical").find(R"("privacy_class":"medical")"), std::string::npos);
  EXPECT_EQ(infer_head({}, {}).find("privacy_class"), std::string::npos);
  EXPECT_EQ(rollout_head({}).find("privacy_class"), std::string::npos);
}

TEST(Answers, OfAHostileGatewayAreRefused) {
  const std::string json = answer_json(kOutput);
  const std::vector<std::pair<std::string, std::size_t>> table = {
      {json, json.size()},                              // bytes missing
      {json + std::string(7, 'x'), json.size()},        // some
      {json + std::string(9, 'x'), json.size()},        // too many
      {json + std::string(8, 'x'), json.size() + 100},  // header beyond the body
      {json + std::string(8, 'x'), json.size() - 1},    // JSON cut
      {"", 0},
      {"[]", 2},
      {"null", 4},
  };
  for (const auto& [text, size] : table)
    EXPECT_EQ(read_answer(response_of(text, size)).error().code, ErrorCode::kDataLoss) << text;
  for (const char* output :
       {R"({"name":"y","datatype":"FP32","shape":[2],"data":[1,2]})",
        R"({"name":"y","datatype":"BYTES","shape":[3],"parameters":{"binary_data_size":8}})",
        R"({"name":"y","datatype":"FP32","shape":[-2],"parameters":{"binary_data_size":8}})",
        R"({"name":"y","datatype":"FP32","shape":["2"],"parameters":{"binary_data_size":8}})",
        R"({"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":-8}})",
        R"({"name":"y","datatype":"FP32","shape":[1099511627776],)"
        R"("parameters":{"binary_data_size":8}})",
        R"({"name":7,"datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}})", "7"}) {
    const std::string text = answer_json(output);
    EXPECT_EQ(read_answer(response_of(text + std::string(8, 'x'), text.size())).error().code,
              ErrorCode::kDataLoss)
        << output;
  }
}

TEST(Answers, SurviveMutation) {
  const std::string json = answer_json(kOutput);
  core::CounterRng rng(5);
  int refused = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::string text = json + std::string(8, 'x');
    text[rng.next_u32() % json.size()] = json[rng.next_u32() % json.size()];
    if (!read_answer(response_of(text, json.size()))) ++refused;
  }
  EXPECT_GT(refused, 1'000);
}

TEST(Answers, OfRefusalsCarryCodeAndLine) {
  const core::Error error = error_of({.status = 503, .json_bytes = {}, .body = [] {
                                        const auto bytes = core::as_bytes(R"({"error":"no one"})");
                                        return core::Bytes(bytes.begin(), bytes.end());
                                      }()});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, "no one");
  const std::pair<std::string, ErrorCode> cases[] = {
      {R"({"error":"x"})", ErrorCode::kAlreadyExists},
      {R"({"error":"x","code":"failed-precondition"})", ErrorCode::kFailedPrecondition},
      {R"({"error":"x","code":"nonsense"})", ErrorCode::kAlreadyExists},
      {R"({"error":"x","code":7})", ErrorCode::kAlreadyExists}};
  for (const auto& [text, code] : cases) {  // both are 409 to HTTP
    EXPECT_EQ(error_of({.status = 409, .json_bytes = {}, .body = {text.begin(), text.end()}}).code,
              code)
        << text;
  }
  EXPECT_EQ(error_of({.status = 502, .json_bytes = {}, .body = {}}).message,
            "the gateway answered with status 502");
}

/// What a gateway says of a receipt: of one provider by its words, of `signer` by what is signed.
std::string receipt_json(const crypto::Address& signer, const core::Digest& said) {
  protocol::Receipt receipt;
  receipt.job.provider = signer;
  receipt.step = 1;
  const core::Digest id = protocol::receipt_id(receipt.body());
  return fmt::format(
      R"({{"id":"{}","account":"ann","model":"ann/m","version":1,"model_sha256":"{}",)"
      R"("delivered_ms":1,"audit":"none","job":{{"provider":"0x{}"}},"receipt":"{}"}})",
      core::to_hex(said == core::Digest{} ? id : said), std::string(64, '0'), std::string(40, '0'),
      core::to_hex(protocol::encode(receipt)));
}

TEST(Answers, OfReceiptsAreOfWhatWasAskedForAndByWhoIsNamed) {
  protocol::Receipt own;
  own.step = 1;
  const core::Digest id = protocol::receipt_id(own.body());
  const auto read = [&](const std::string& text, const core::Digest& asked) {
    return read_receipt(core::as_bytes(text), asked);
  };
  const auto right = read(receipt_json({}, {}), id);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->receipt, own);
  core::Digest other = id;
  other[0] ^= 1;
  EXPECT_EQ(read(receipt_json({}, {}), other).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(read(receipt_json({}, other), other).error().message,
            "the gateway's answer makes no sense: the receipt has another id than was said");
  crypto::Address signer;
  signer.bytes[0] = 7;
  own.job.provider = signer;
  EXPECT_EQ(read(receipt_json(signer, {}), protocol::receipt_id(own.body())).error().message,
            "the gateway's answer makes no sense: the receipt is signed by another provider than "
            "was said");
}

TEST(Answers, OfRolloutsSayByACodeWhyTheyEnded) {
  const auto read = [](const std::string& code) {
    const std::string text =
        R"({"rollout":")" + std::string(64, '1') + R"(","key":"","provider":"0x)" +
        std::string(40, '0') + R"(","state":"failed","reason":"any words",)" + code +
        R"("steps_done":1,"steps":2,"final_state":")" + std::string(64, '2') +
        R"(","audit_probability":1,"audits":{"open":0,"matched":1},"mismatches":[]})";
    return read_rollout(core::as_bytes(text));
  };
  EXPECT_EQ(read(R"("reason_code":"not-finite",)")->reason_code, kNotFinite);
  // An older gateway says none, a newer one perhaps another.
  EXPECT_EQ(read("")->reason_code, "");
  EXPECT_EQ(read(R"("reason_code":"moonstruck",)")->reason_code, "moonstruck");
  EXPECT_FALSE(read(R"("reason_code":7,)"));
}

TEST(Answers, OfModelsAndReceiptsMustBeWhole) {
  for (const char* text : {"{}", "[]", "7", R"({"models":[{}]})", R"({"models":{}})",
                           R"({"receipts":[{"id":"00"}]})", R"({"accounts":[[]]})"}) {
    const core::ByteView body = core::as_bytes(text);
    EXPECT_FALSE(read_model(body)) << text;
    EXPECT_FALSE(read_models(body)) << text;
    EXPECT_FALSE(read_receipt(body, {})) << text;
    EXPECT_FALSE(read_receipts(body)) << text;
    EXPECT_FALSE(read_account(body)) << text;
    EXPECT_FALSE(read_accounts(body)) << text;
  }
}

}  // namespace
}  // namespace commensal::client
