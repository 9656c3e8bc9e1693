// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/http/message.hpp>
#include <commensal/serve/http/routes.hpp>

namespace commensal::http {
namespace {

TEST(Target, IsTakenApartAndDecoded) {
  const auto target =
      Target::parse("/v2/models/al%2Fdigits/infer/?private=1&allow=0xA,0xb&x=a+b%21&y");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (std::vector<std::string>{"v2", "models", "al/digits", "infer"}));
  EXPECT_EQ(target->query.at("private"), "1");
  EXPECT_EQ(target->query.at("allow"), "0xA,0xb");
  EXPECT_EQ(target->query.at("x"), "a b!");
  EXPECT_EQ(target->query.at("y"), "");
}

TEST(Target, RefusesWhatIsBroken) {
  for (const char* text : {"", "v2", "*", "/%", "/%4", "/%zz", "/a%00b", "/?a=%x"})
    EXPECT_FALSE(Target::parse(text)) << text;
  EXPECT_FALSE(Target::parse("/" + std::string(100'000, 'a')));
}

struct Match {
  const char* pattern;
  const char* target;
  const char* model;  // or "-": no match
};

TEST(Routes, TakesAModelInBothSpellings) {
  const std::vector<Match> table = {
      {"/v2/models/{model}", "/v2/models/a/b", "a/b"},
      {"/v2/models/{model}", "/v2/models/a%2Fb", "a/b"},
      {"/v2/models/{model}", "/v2/models/b", "b"},
      {"/v2/models/{model}", "/v2/models/a/b/c", "-"},
      {"/v2/models/{model}", "/v2/models", "-"},
      {"/v2/models/{model}/infer", "/v2/models/a/b/infer", "a/b"},
      {"/v2/models/{model}/infer", "/v2/models/a%2fb/infer", "a/b"},
      {"/v2/models/{model}/infer", "/v2/models/infer", "-"},
      {"/v2/models/{model}/infer", "/v2/models/infer/infer", "infer"},
      {"/v2/models/{model}/infer", "/v2/models/a/infer/infer", "a/infer"},
      {"/v2/models/{model}/versions/{version}/infer", "/v2/models/a/b/versions/2/infer", "a/b"},
  };
  for (const Match& row : table) {
    const auto target = Target::parse(row.target);
    ASSERT_TRUE(target);
    Params params;
    const bool matches = match_path(row.pattern, target->segments, params);
    EXPECT_EQ(matches ? params["model"] : "-", row.model) << row.pattern << " " << row.target;
  }
}

TEST(Routes, KeepsNothingOfAFailedMatch) {
  Params params;
  const auto target = Target::parse("/v1/receipts/ab/opening");
  EXPECT_TRUE(match_path("/v1/receipts/{receipt}/opening", target->segments, params));
  EXPECT_EQ(params.size(), 1u);
  EXPECT_FALSE(match_path("/v1/models/{model}/content", target->segments, params));
  EXPECT_TRUE(params.empty());
}

TEST(Message, ErrorsCarryTheirLineAndTheirHeaders) {
  const Response response =
      error_response({core::ErrorCode::kUnauthenticated, "a token is needed: \"Bearer T\"\xff"});
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.text,
            "{\"error\":\"a token is needed: \\\"Bearer T\\\"\xef\xbf\xbd\","
            "\"code\":\"unauthenticated\"}");
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].first, "WWW-Authenticate");
  EXPECT_EQ(error_response({core::ErrorCode::kNotFound, ""}).status, 404);
  EXPECT_EQ(error_response({core::ErrorCode::kUnavailable, ""}).headers[0].first, "Retry-After");
  const std::string full = error_response({core::ErrorCode::kDataLoss,
                                           "cannot write '/state/a.onnx': No space left on "
                                           "device"})
                               .text;
  EXPECT_NE(full.find("the gateway's disk is full"), std::string::npos) << full;
  EXPECT_EQ(full.find("/state"), std::string::npos) << full;
  EXPECT_EQ(reason_phrase(413), "Content Too Large");
}

}  // namespace
}  // namespace commensal::http
