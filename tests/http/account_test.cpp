// SPDX-License-Identifier: Apache-2.0
// Tokens, sign-up, grants and the log of operators' acts, over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/api.hpp>
#include <nlohmann/json.hpp>

#include <tests/http/raw_client.hpp>
#include <tests/http/wide.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class HttpAccounts : public ::testing::Test {
 protected:
  struct Said {
    int status = 0;
    Json json;
  };

  /// On a connection of its own; `from`: 127.0.FROM.1.
  Said ask(const std::string& method, const std::string& target, const std::string& token,
           const std::string& body = "", std::uint8_t from = 0) const {
    RawClient raw(world_.port(), from);
    raw.send(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", method,
                         target, token.empty() ? "" : "Authorization: Bearer " + token + "\r\n",
                         body.size(), body));
    const RawResponse response = raw.receive();
    return {response.status, Json::parse(response.body, nullptr, false)};
  }
  Said post(const std::string& target, const std::string& token, const Json& body) const {
    return ask("POST", target, token, body.dump());
  }
  std::string made_token(const std::string& token, const Json& terms) const {
    const Said made = post("/v1/account/tokens", token, terms);
    EXPECT_EQ(made.status, 201) << made.json.dump();
    return made.json.value("token", "");
  }
  Json acts(int count) const {
    return ask("GET", fmt::format("/v1/audit-log?count={}", count), world_.root).json["acts"];
  }

  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name(), nullptr, {}, true};
};

/// With something in place of the words in braces.
std::string target_of(std::string_view pattern) {
  std::string target(pattern);
  for (std::size_t begin = target.find('{'); begin != std::string::npos; begin = target.find('{')) {
    const std::size_t end = target.find('}');
    const std::string name = target.substr(begin, end - begin + 1);
    target.replace(begin, end - begin + 1, name == "{model}" ? "alice/digits" : "1");
  }
  return target;
}

// Each route has its scope: a token of all others is refused there and told which one it is, a
// token of that one is not. Whoever adds a route without a thought of it meets this test.
TEST_F(HttpAccounts, EveryRouteAsksForItsScope) {
  using gateway::Scope;
  std::map<Scope, std::string> with, without;
  for (const Scope scope : gateway::token_scopes()) {
    const std::string name(gateway::name_of(scope));
    Json others = Json::array();
    for (const Scope other : gateway::token_scopes())
      if (other != scope) others.push_back(gateway::name_of(other));
    with[scope] = made_token(world_.root, {{"label", "with-" + name}, {"scopes", {name}}});
    without[scope] = made_token(world_.root, {{"label", "no-" + name}, {"scopes", others}});
  }
  std::map<Scope, int> routes;
  for (const auto table : http::all_routes()) {
    for (const http::Route& route : table) {
      ++routes[route.scope];
      if (route.auth == http::Auth::kNone) EXPECT_EQ(route.scope, Scope::kAny) << route.pattern;
      if (route.scope == Scope::kAny) continue;
      const std::string method(route.method), target = target_of(route.pattern);
      const std::string lacks =
          fmt::format("has not the scope '{}'", gateway::name_of(route.scope));
      const Said refused = ask(method, target, without[route.scope], "{");
      EXPECT_EQ(refused.status, 403) << method << " " << target;
      EXPECT_THAT(refused.json.value("error", ""), HasSubstr(lacks)) << method << " " << target;
      if (target == "/v1/account/token" || target == "/v1/accounts/1/token")
        continue;  // it ends all
      const Said heard = ask(method, target, with[route.scope], "{");
      EXPECT_THAT(heard.json.is_object() ? heard.json.value("error", "") : "",
                  ::testing::Not(HasSubstr("has not the scope")))
          << method << " " << target;
    }
  }
  for (const Scope scope : gateway::token_scopes())
    EXPECT_GT(routes[scope], 0) << gateway::name_of(scope);
}

TEST_F(HttpAccounts, TokensAreMadeListedAndEnded) {
  const Json terms = {{"label", "ci"}, {"scopes", {"infer"}}, {"expires_in_s", 60}};
  const Said made = post("/v1/account/tokens", world_.alice, terms);
  ASSERT_EQ(made.status, 201) << made.json.dump();
  const std::string ci = made.json["token"];
  EXPECT_EQ(made.json["scopes"], Json({"infer"}));
  EXPECT_GT(made.json["expires_ms"], made.json["made_ms"]);
  const Json own = ask("GET", "/v1/account", ci).json;
  EXPECT_EQ(own["name"], "alice");
  EXPECT_EQ(own["label"], "ci");
  EXPECT_EQ(own["scopes"], Json({"infer"}));
  EXPECT_EQ(ask("GET", "/v1/account", world_.alice).json["scopes"], Json());
  EXPECT_EQ(ask("GET", "/v1/receipts", ci).status, 403);
  const Json list = ask("GET", "/v1/account/tokens", world_.alice).json["tokens"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["label"], "ci");
  EXPECT_FALSE(list[0].contains("token"));
  EXPECT_TRUE(list[0]["used_ms"].is_number());
  EXPECT_EQ(ask("GET", "/v1/accounts/alice/tokens", world_.root).json["tokens"], list);
  EXPECT_EQ(ask("GET", "/v1/accounts/alice/tokens", world_.bob).status, 403);
  world_.clock().leap_ms(61'000);
  const Said expired = ask("GET", "/v1/account", ci);
  EXPECT_EQ(expired.status, 401);
  EXPECT_THAT(expired.json.value("error", ""), HasSubstr("the token 'ci' of 'alice' has expired"));
  const std::string again = made_token(world_.alice, {{"label", "ci"}});
  EXPECT_EQ(ask("GET", "/v1/account", again).status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/account/tokens/ci", world_.alice).status, 200);
  EXPECT_EQ(ask("GET", "/v1/account", again).status, 401);
  EXPECT_EQ(ask("DELETE", "/v1/account/tokens/ci", world_.alice).status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/accounts/alice/tokens/default", world_.root).status, 200);
  EXPECT_EQ(ask("GET", "/v1/account", world_.alice).status, 401);
}

TEST_F(HttpAccounts, ATokenGivesNoMoreThanItHas) {
  const std::string some =
      made_token(world_.root, {{"label", "some"}, {"scopes", {"infer", "accounts"}}});
  EXPECT_EQ(made_token(some, {{"label", "less"}, {"scopes", {"infer"}}}).size(), 64u);
  for (const Json& terms :
       {Json({{"label", "all"}}), Json({{"label", "x"}, {"scopes", {"infer", "money"}}})})
    EXPECT_EQ(post("/v1/account/tokens", some, terms).status, 403) << terms.dump();
  const Said boss = post("/v1/accounts", world_.root, {{"name", "boss"}, {"role", "operator"}});
  ASSERT_EQ(boss.status, 201);
  for (const char* target :
       {"/v1/account/token", "/v1/accounts/root/token", "/v1/accounts/boss/token"})
    EXPECT_EQ(post(target, some, {}).status, 403) << target;
  EXPECT_EQ(post("/v1/accounts/boss/tokens", some, {{"label", "mine"}}).status, 403);
  EXPECT_EQ(ask("DELETE", "/v1/accounts/boss/tokens/default", some).status, 403);
  EXPECT_EQ(post("/v1/accounts", some, {{"name", "eve"}, {"role", "operator"}}).status, 403);
  EXPECT_EQ(post("/v1/accounts", some, {{"name", "eve"}}).status, 201);
  EXPECT_EQ(post("/v1/accounts/eve/tokens", some, {{"label", "ci"}}).status, 403);
  const Json narrow = {{"label", "ci"}, {"scopes", {"infer"}}};
  EXPECT_EQ(post("/v1/accounts/eve/tokens", some, narrow).status, 201);
  for (const char* wider : {"/v1/account/tokens/default", "/v1/accounts/eve/tokens/default"})
    EXPECT_EQ(ask("DELETE", wider, some).status, 403) << wider;
  const std::string day = made_token(world_.root, {{"label", "day"}, {"expires_in_s", 86'400}});
  for (const char* role : {"operator", "auditor"})
    EXPECT_EQ(post("/v1/accounts", day, {{"name", "mallory"}, {"role", role}}).status, 403) << role;
  EXPECT_EQ(post("/v1/accounts/boss/token", day, {}).status, 403);
  const std::string brief = made_token(world_.alice, {{"label", "brief"}, {"expires_in_s", 60}});
  EXPECT_EQ(post("/v1/account/tokens", brief, {{"label", "long"}}).status, 403);
  EXPECT_EQ(post("/v1/account/tokens", brief, {{"label", "y"}, {"expires_in_s", 30}}).status, 201);
}

TEST_F(HttpAccounts, WrongBodiesAreNamed) {
  const std::pair<const char*, const char*> tokens[] = {
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"label":7})", "label: expected a text"},
      {R"({"label":"a b"})", "a token's label is 1 to 64"},
      {R"({"label":"a","scopes":[]})", "one at least"},
      {R"({"label":"a","scopes":["all"]})", "unknown scope 'all'"},
      {R"({"label":"a","scopes":"infer"})", "expected a list"},
      {R"({"label":"a","expires_in_s":0})", "expires_in_s: expected a whole number"},
      {R"({"label":"a","expires_in_s":-1})", "expires_in_s: expected a whole number"},
      {R"({"label":"a","expires_in_s":1e30})", "expires_in_s: expected a whole number"},
      {R"({"label":"a","role":"king"})", "unknown member 'role'"}};
  for (const auto& [body, says] : tokens) {
    const Said said = ask("POST", "/v1/account/tokens", world_.alice, body);
    EXPECT_EQ(said.status, 400) << body;
    EXPECT_THAT(said.json.value("error", ""), HasSubstr(says)) << body;
  }
  const std::pair<const char*, const char*> invitations[] = {
      {R"({})", "an invitation's label is"},
      {R"({"label":"a","uses":0})", "uses: expected a whole number"},
      {R"({"label":"a","credit":"1.5"})", "credit: '1.5'"},
      {R"({"label":"a","credit":"5"})", "grants no test money"}};
  for (const auto& [body, says] : invitations) {
    const Said said = ask("POST", "/v1/invitations", world_.root, body);
    EXPECT_GE(said.status, 400) << body;
    EXPECT_THAT(said.json.value("error", ""), HasSubstr(says)) << body;
  }
  for (const char* query : {"?before=x", "?before=0", "?before=-1", "?count=0", "?count=101"})
    EXPECT_EQ(ask("GET", std::string("/v1/audit-log") + query, world_.root).status, 400) << query;
}

TEST_F(HttpAccounts, WhoIsInvitedSignsUp) {
  const Said made = post("/v1/invitations", world_.root, {{"label", "spring"}, {"uses", 2}});
  ASSERT_EQ(made.status, 201) << made.json.dump();
  const std::string code = made.json["code"];
  EXPECT_EQ(code.size(), 64u);
  const Said carol = post("/v1/signup", "", {{"name", "carol"}, {"code", code}});
  ASSERT_EQ(carol.status, 201) << carol.json.dump();
  EXPECT_EQ(ask("GET", "/v1/account", carol.json["token"]).json["role"], "consumer");
  EXPECT_EQ(post("/v1/signup", "", {{"name", "carol"}, {"code", code}}).status, 409);
  EXPECT_EQ(post("/v1/signup", "", {{"name", "Dave!"}, {"code", code}}).status, 400);
  EXPECT_EQ(post("/v1/signup", "", {{"name", "dave"}, {"code", "x" + code}}).status, 403);
  const Json list = ask("GET", "/v1/invitations", world_.root).json["invitations"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["uses_left"], 1);
  EXPECT_FALSE(list[0].contains("code"));
  EXPECT_EQ(post("/v1/signup", "", {{"name", "dave"}, {"code", code}}).status, 201);
  const Said late = post("/v1/signup", "", {{"name", "erin"}, {"code", code}});
  EXPECT_EQ(late.status, 403);
  EXPECT_THAT(late.json.value("error", ""), HasSubstr("used up"));
  EXPECT_EQ(ask("DELETE", "/v1/invitations/spring", world_.root).status, 200);
  EXPECT_EQ(ask("GET", "/v1/invitations", world_.root).json["invitations"].size(), 0u);
  EXPECT_EQ(post("/v1/invitations", world_.alice, {{"label", "mine"}}).status, 403);
}

TEST_F(HttpAccounts, OpenSignUpIsForSoManyOfANetwork) {
  const auto sign_up = [&](int i, std::uint8_t from) {
    return ask("POST", "/v1/signup", "", Json({{"name", fmt::format("n{}-{}", from, i)}}).dump(),
               from)
        .status;
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(sign_up(i, 1), 201) << i;
  EXPECT_EQ(sign_up(4, 1), 429);
  const std::string own = ask("POST", "/v1/signup", "", R"({"name":"other"})", 2).json["token"];
  world_.clock().leap_ms(61'000);
  EXPECT_EQ(sign_up(5, 1), 201);
  EXPECT_EQ(sign_up(6, 1), 429);
  // On an account's connection there is no network to count by.
  RawClient raw(world_.port(), 1);
  raw.send("GET /v1/account HTTP/1.1\r\n" + header(own) + "\r\n");
  EXPECT_EQ(raw.receive().status, 200);
  raw.send("POST /v1/signup HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{\"name\":\"z\"}");
  EXPECT_EQ(raw.receive().status, 409);
}

TEST_F(HttpAccounts, OfOneNetworkSoManySignUpInADay) {
  const auto sign_up = [&](int i, std::uint8_t from) {
    return ask("POST", "/v1/signup", "", Json({{"name", fmt::format("d{}-{}", from, i)}}).dump(),
               from)
        .status;
  };
  int made = 0;
  for (int i = 0; i < 2 * static_cast<int>(limits::kSignUpsPerDay); ++i) {
    made += sign_up(i, 3) == 201 ? 1 : 0;
    world_.clock().leap_ms(61'000);
  }
  EXPECT_GE(made, limits::kSignUpsPerDay);
  EXPECT_LE(made, limits::kSignUpsPerDay + 3) << "in an hour";
  EXPECT_EQ(sign_up(0, 4), 201);
}

TEST_F(HttpAccounts, AreListedInPages) {
  for (const char* name : {"zoe", "carl"}) {
    ASSERT_EQ(post("/v1/accounts", world_.root, {{"name", name}}).status, 201);
  }
  const auto page = [&](const std::string& query) {
    const Json listed = ask("GET", "/v1/accounts" + query, world_.root).json["accounts"];
    std::string all;
    for (const Json& one : listed) all += one["name"].get<std::string>() + " ";
    return all;
  };
  EXPECT_EQ(page("?count=2"), "alice bob ");
  EXPECT_EQ(page("?count=2&after=bob"), "carl root ");
  EXPECT_EQ(page("?after=root"), "zoe ");
  EXPECT_EQ(page("?after=zoe"), "");
  for (const char* query : {"?count=0", "?count=257", "?count=x"})
    EXPECT_EQ(ask("GET", std::string("/v1/accounts") + query, world_.root).status, 400) << query;
}

TEST(HttpAccountsClosed, NobodySignsUpUninvited) {
  World world("closed");
  const auto refused = world.client("").post("/v1/signup", "application/json",
                                             core::as_bytes(std::string_view(R"({"name":"eve"})")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("for who is invited"));
}

TEST_F(HttpAccounts, APrivateModelIsUsedByThoseItWasGrantedTo) {
  world_.start_provider();
  const core::Bytes bytes = digits_model();
  client::Client alice = world_.client(world_.alice), bob = world_.client(world_.bob);
  client::PushRequest secret;
  secret.model = "alice/secret";
  secret.bytes = bytes;
  secret.is_private = true;
  secret.allowed_providers = {world_.provider_address()};
  ASSERT_TRUE(alice.push(secret));
  EXPECT_EQ(bob.infer("alice/secret", 0, picture(1)).error().code, ErrorCode::kNotFound);
  const std::string accounts = "/v1/models/alice/secret/accounts";
  EXPECT_EQ(ask("PUT", accounts + "/bob", world_.bob).status, 404);
  EXPECT_EQ(ask("PUT", accounts + "/nobody", world_.alice).status, 404);
  EXPECT_EQ(ask("PUT", accounts + "/bob?contents=1", world_.alice).status, 400);
  ASSERT_EQ(ask("PUT", accounts + "/bob", world_.alice).status, 200);
  EXPECT_EQ(ask("GET", accounts, world_.alice).json["accounts"],
            Json::parse(R"([{"account":"bob","content":false}])"));
  EXPECT_EQ(ask("GET", accounts, world_.bob).status, 403);
  const auto answer = bob.infer("alice/secret", 0, picture(1));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(bob.receipt(answer->receipt)->account, "bob");
  EXPECT_EQ(alice.receipt(answer->receipt).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(bob.get_json("/v2/models/alice/secret"));
  EXPECT_EQ(ask("GET", "/v1/models/alice/secret/content", world_.bob).status, 403);
  ASSERT_EQ(ask("PUT", accounts + "/bob?content=1", world_.alice).status, 200);
  EXPECT_TRUE(bob.model_content("alice/secret"));
  ASSERT_EQ(ask("DELETE", accounts + "/bob", world_.alice).status, 200);
  EXPECT_EQ(bob.infer("alice/secret", 0, picture(1)).error().code, ErrorCode::kNotFound);
}

// Whatever an operator may change is an act, done or not.
TEST_F(HttpAccounts, EveryActOfAnOperatorIsInTheLog) {
  std::size_t before = 0;
  for (const auto table : http::all_routes()) {
    for (const http::Route& route : table) {
      if (route.auth != http::Auth::kOperator || route.method == "GET") continue;
      const Said said = ask(std::string(route.method), target_of(route.pattern), world_.root, "{");
      EXPECT_GE(said.status, 400) << route.pattern;
      const Json log = acts(100);
      ASSERT_EQ(log.size(), ++before) << route.method << " " << route.pattern;
      EXPECT_NE(log[0]["act"], "") << route.pattern;
      EXPECT_EQ(log[0]["outcome"], said.json["error"]) << route.pattern;
    }
  }
  EXPECT_GE(before, 10u);
}

TEST_F(HttpAccounts, TheLogSaysWhoDidWhatToWhom) {
  const std::string ops = made_token(world_.root, {{"label", "ops"}});
  ASSERT_EQ(post("/v1/accounts", ops, {{"name", "carol"}}).status, 201);
  EXPECT_EQ(post("/v1/accounts", ops, {{"name", "carol"}}).status, 409);
  EXPECT_EQ(ask("PUT", "/v1/aliases/digits", ops, R"({"model":"alice/digits"})").status, 200);
  EXPECT_EQ(ask("POST", "/v2/repository/models/digits/unload", ops).status, 200);
  EXPECT_EQ(ask("PUT", "/v1/models/alice/digits/config", ops, R"({"config":{}})").status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/models/alice/digits", ops).status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/accounts/alice", ops).status, 200);
  // What others do to what is their own is nobody's act.
  EXPECT_EQ(post("/v1/account/tokens", world_.bob, {{"label", "x"}}).status, 201);
  const Json log = acts(20);
  const std::vector<std::vector<std::string>> expected = {
      {"account.delete", "alice", "done"},
      {"model.delete", "alice/digits", "done"},
      {"model.config", "alice/digits", "done"},
      {"model.unload", "digits", "done"},
      {"alias.set", "digits", "done"},
      {"account.create", "carol (consumer)", "the account 'carol' exists"},
      {"account.create", "carol (consumer)", "done"},
      {"token.create", "root/ops", "done"}};
  ASSERT_EQ(log.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((std::vector<std::string>{log[i]["act"], log[i]["on"], log[i]["outcome"]}),
              expected[i]);
    EXPECT_EQ(log[i]["account"], "root");
    EXPECT_EQ(log[i]["token"], i + 1 == expected.size() ? "default" : "ops");
    EXPECT_GT(log[i]["at_ms"], 0);
  }
  const Json page =
      ask("GET", fmt::format("/v1/audit-log?before={}&count=2", log[1]["number"].get<int>()),
          world_.root)
          .json["acts"];
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0], log[2]);
  EXPECT_EQ(ask("GET", "/v1/audit-log", world_.alice).status, 401);
  EXPECT_EQ(ask("GET", "/v1/audit-log", world_.bob).status, 403);
}

}  // namespace
}  // namespace commensal::tests
