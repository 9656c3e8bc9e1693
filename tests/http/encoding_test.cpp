// SPDX-License-Identifier: Apache-2.0
// Bodies in content codings, both ways, over a socket.
#include <gtest/gtest.h>

#include <commensal/base/core/growing_bytes.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/compression.hpp>
#include <nlohmann/json.hpp>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using http::Coding;
using Json = nlohmann::json;

std::string encoded(Coding coding, std::string_view text) {
  core::MemoryBudget::Lease nobodys;
  return http::compress(coding, text, nobodys).value_or("");
}

std::string decoded(Coding coding, std::string_view text) {
  core::MemoryBudget::Lease nobodys;
  core::GrowingBytes body;
  std::ranges::copy(text, body.prepare(text.size(), text.size()).begin());
  body.commit(text.size());
  const auto made = http::decompress(coding, body, limits::kHttpBodyBytesMax, nobodys, {});
  return made && *made ? std::string(core::as_text(body)) : "not whole";
}

class HttpEncoding : public ::testing::Test {
 protected:
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};

  RawResponse infer(const std::string& body, const std::string& headers) {
    RawClient raw(world_.port());
    raw.send(fmt::format("POST /v2/models/alice/digits/infer HTTP/1.1\r\nHost: x\r\n"
                         "Authorization: Bearer {}\r\n{}Content-Length: {}\r\n\r\n",
                         world_.alice, headers, body.size()) +
             body);
    return raw.receive();
  }
  static std::string request(const char* data, bool is_binary_answer) {
    return fmt::format(R"({{"inputs":[{{"name":"image","datatype":"FP32","shape":[1,1,8,8],{}}}],)"
                       R"("parameters":{{"binary_data_output":{}}}}})",
                       data, is_binary_answer);
  }
  /// A picture of zeros.
  static std::string json() {
    std::string data = R"("data":[0)";
    for (int i = 1; i < 64; ++i) data += ",0";
    return request((data + "]").c_str(), false);
  }
};

struct Named {
  Coding coding;
  const char* name;
};
constexpr Named kBoth[] = {{Coding::kGzip, "gzip"}, {Coding::kDeflate, "deflate"}};

TEST_F(HttpEncoding, OfRequestsAndAnswersIsOneOfTwo) {
  world_.start_provider();
  const RawResponse plain = infer(json(), "");
  ASSERT_EQ(plain.status, 200) << plain.body;
  EXPECT_FALSE(plain.headers.contains("content-encoding"));
  for (const auto& [coding, name] : kBoth) {
    const RawResponse answer =
        infer(encoded(coding, json()),
              fmt::format("Content-Encoding: {0}\r\nAccept-Encoding: {0}\r\n", name));
    ASSERT_EQ(answer.status, 200) << name << answer.body;
    EXPECT_EQ(answer.headers.at("content-encoding"), name);
    const auto outputs = Json::parse(decoded(coding, answer.body))["outputs"];
    EXPECT_EQ(outputs, Json::parse(plain.body)["outputs"]);
  }
}

TEST_F(HttpEncoding, CountsTheHeaderOfTensorsBeforeIt) {
  world_.start_provider();
  const std::string head = request(R"("parameters":{"binary_data_size":256})", true);
  for (const auto& [coding, name] : kBoth) {
    const RawResponse answer = infer(encoded(coding, head + std::string(256, '\0')),
                                     fmt::format("Content-Encoding: {0}\r\nAccept-Encoding: {0}\r\n"
                                                 "Inference-Header-Content-Length: {1}\r\n",
                                                 name, head.size()));
    ASSERT_EQ(answer.status, 200) << name << answer.body;
    const std::string body = decoded(coding, answer.body);
    const std::size_t json_bytes = std::stoul(answer.headers.at("inference-header-content-length"));
    ASSERT_LE(json_bytes, body.size());
    const auto json = Json::parse(body.substr(0, json_bytes));
    std::size_t binary = 0;
    for (const auto& output : json["outputs"])
      binary += output["parameters"]["binary_data_size"].get<std::size_t>();
    EXPECT_EQ(body.size(), json_bytes + binary);
  }
}

TEST_F(HttpEncoding, OfWhatIsTooLongOrNoneIsRefused) {
  world_.start_provider();
  const std::string gzip = "Content-Encoding: gzip\r\n";
  const std::string bomb = encoded(Coding::kGzip, std::string(40 << 20, ' '));
  ASSERT_LT(bomb.size(), 1u << 20);
  const RawResponse long_json = infer(bomb, gzip);
  EXPECT_EQ(long_json.status, 413) << long_json.body;
  EXPECT_EQ(infer(json(), gzip).status, 400);
  EXPECT_EQ(infer(bomb.substr(0, 1000), gzip).status, 400);
  const RawResponse other = infer(json(), "Content-Encoding: br\r\n");
  EXPECT_EQ(other.status, 415);
  EXPECT_NE(other.body.find("gzip, deflate"), std::string::npos) << other.body;
  EXPECT_EQ(infer(json(), "").status, 200) << "and the server goes on";
}

// Triton's asyncio client asks for encodings everywhere, and reads them of inferences only.
TEST_F(HttpEncoding, IsForInferencesAlone) {
  RawClient raw(world_.port());
  raw.send("GET /v1/models HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip, deflate\r\n\r\n");
  const RawResponse answer = raw.receive();
  EXPECT_GE(answer.body.size(), 256u);
  EXPECT_FALSE(answer.headers.contains("content-encoding"));
  EXPECT_TRUE(Json::parse(answer.body).contains("models"));
}

}  // namespace
}  // namespace commensal::tests
