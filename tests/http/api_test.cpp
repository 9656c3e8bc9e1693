// SPDX-License-Identifier: Apache-2.0
// The routes, through the client and, where that is too polite, through a socket.
#include <gtest/gtest.h>

#include <commensal/verify/receipt/opening.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using core::ErrorCode;
using Json = nlohmann::json;

class HttpApi : public ::testing::Test {
 protected:
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  client::Client alice_ = world_.client(world_.alice);
  client::Client bob_ = world_.client(world_.bob);
  client::Client root_ = world_.client(world_.root);
  client::Client anyone_ = world_.client("");

  RawResponse post(const std::string& target, const std::string& body,
                   const std::string& headers = "") {
    RawClient raw(world_.port());
    raw.send(
        fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{}"
                    "Content-Length: {}\r\n\r\n{}",
                    target, world_.alice, headers, body.size(), body));
    return raw.receive();
  }
  /// A request for the digit network, as JSON.
  static std::string json_request(const tensor::NamedTensors& inputs) {
    const auto values = inputs[0].value.data<float>();
    Json json = {{"id", "q1"},
                 {"inputs",
                  {{{"name", "image"},
                    {"datatype", "FP32"},
                    {"shape", {1, 1, 8, 8}},
                    {"data", std::vector<float>(values.begin(), values.end())}}}}};
    return json.dump();
  }
};

TEST_F(HttpApi, DescribesServerAndModels) {
  EXPECT_TRUE(anyone_.live());
  const auto server = Json::parse(*anyone_.get_json("/v2/"));
  EXPECT_EQ(server["name"], "commensal");
  EXPECT_EQ(server["extensions"],
            Json({"binary_tensor_data", "classification", "model_configuration", "model_repository",
                  "sequence", "statistics", "system_shared_memory"}));
  for (const char* target : {"/v2/models/alice/digits", "/v2/models/alice%2Fdigits",
                             "/v2/models/alice/digits/versions/1"}) {
    const auto model = Json::parse(*anyone_.get_json(target));
    EXPECT_EQ(model["name"], "alice/digits");
    EXPECT_EQ(model["versions"], Json({"1"}));
    EXPECT_EQ(model["inputs"][0]["name"], "image");
    EXPECT_EQ(model["inputs"][0]["datatype"], "FP32");
    EXPECT_EQ(model["inputs"][0]["shape"].size(), 4u);
  }
  for (const char* target :
       {"/v2/models/alice/nothing", "/v2/models/digits", "/v2/models/alice/digits/versions/2",
        "/v2/models/alice/digits/versions/x", "/v2/models/digits/ready"})
    EXPECT_EQ(anyone_.get_json(target).error().code, ErrorCode::kNotFound) << target;
}

TEST_F(HttpApi, SaysWhyNothingIsReady) {
  const std::string reason = "no provider for 'alice/digits': none is connected to this gateway";
  EXPECT_EQ(anyone_.ready().error().message,
            "no provider for 'any model': none is connected to this gateway");
  EXPECT_EQ(anyone_.get_json("/v2/models/alice/digits/ready").error().code,
            ErrorCode::kUnavailable);
  const auto answer = alice_.infer("alice/digits", 0, picture(0));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(answer.error().message, "");
  const auto index = Json::parse(post("/v2/repository/index", "{}").body);
  EXPECT_EQ(index[0]["state"], "UNAVAILABLE");
  EXPECT_EQ(index[0]["reason"], reason);
  world_.start_provider();
  EXPECT_TRUE(anyone_.ready());
  EXPECT_TRUE(anyone_.get_json("/v2/models/alice%2fdigits/versions/1/ready"));
  EXPECT_EQ(Json::parse(post("/v2/repository/index", "").body)[0]["state"], "READY");
}

TEST_F(HttpApi, AnswersTheSameInJsonAndInBinary) {
  world_.start_provider();
  const auto binary = alice_.infer("alice/digits", 1, picture(7));
  ASSERT_TRUE(binary) << binary.error().message;
  ASSERT_EQ(binary->outputs.size(), 1u);
  EXPECT_EQ(binary->provider, world_.provider_address());
  const RawResponse raw = post("/v2/models/alice%2Fdigits/infer", json_request(picture(7)));
  ASSERT_EQ(raw.status, 200) << raw.body;
  const auto json = Json::parse(raw.body);
  EXPECT_EQ(json["id"], "q1");
  EXPECT_EQ(json["model_name"], "alice/digits");
  EXPECT_EQ(json["model_version"], "1");
  EXPECT_EQ(json["parameters"]["commensal_provider"], crypto::to_text(world_.provider_address()));
  EXPECT_NE(json["parameters"]["commensal_receipt"], core::to_hex(binary->receipt));
  const auto values = json["outputs"][0]["data"].get<std::vector<float>>();
  const auto expected = binary->outputs[0].value.data<float>();
  EXPECT_TRUE(std::ranges::equal(values, expected));
}

// What Triton's Python client sends by default: no Content-Type, binary both ways.
TEST_F(HttpApi, TakesABinaryRequestWithoutContentType) {
  world_.start_provider();
  const tensor::NamedTensors inputs = picture(3);
  const std::string head =
      R"({"inputs":[{"name":"image","shape":[1,1,8,8],"datatype":"FP32",)"
      R"("parameters":{"binary_data_size":256}}],"parameters":{"binary_data_output":true}})";
  const RawResponse response = post(
      "/v2/models/alice/digits/infer", head + std::string(core::as_text(inputs[0].value.bytes())),
      fmt::format("Inference-Header-Content-Length: {}\r\n", head.size()));
  ASSERT_EQ(response.status, 200) << response.body;
  const std::size_t json_size = std::stoul(response.headers.at("inference-header-content-length"));
  const auto json = Json::parse(response.body.substr(0, json_size));
  EXPECT_EQ(json["outputs"][0]["parameters"]["binary_data_size"], response.body.size() - json_size);
}

TEST_F(HttpApi, ModelsAndAccountsAreRemovedByThoseWhoMay) {
  const core::Bytes bytes = digits_model();
  client::PushRequest secret;
  secret.model = "bob/secret";
  secret.bytes = bytes;
  secret.is_private = true;
  ASSERT_TRUE(bob_.push(secret));
  const auto changed = bob_.allow("bob/secret", {world_.provider_address()});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(Json::parse(changed->json)["allowed_providers"].size(), 1u);
  secret.model = "alice/own";
  secret.allowed_providers = {world_.provider_address()};
  ASSERT_TRUE(alice_.push(secret));
  for (const char* slip : {"", "?alow=", "?allow=&private=1"}) {  // they emptied the list
    EXPECT_EQ(post("/v1/models/alice%2Fown/providers" + std::string(slip), "").status, 400);
  }
  const std::pair<core::Result<void>, ErrorCode> refused[] = {
      {anyone_.remove_model("alice/digits"), ErrorCode::kUnauthenticated},
      {bob_.remove_model("alice/digits"), ErrorCode::kPermissionDenied},
      {alice_.remove_model("bob/secret"), ErrorCode::kNotFound},
      {alice_.remove_account("bob"), ErrorCode::kPermissionDenied},
      {root_.remove_account("root"), ErrorCode::kFailedPrecondition},
      {root_.remove_account("bob"), ErrorCode::kFailedPrecondition},
      {root_.remove_account("nobody"), ErrorCode::kNotFound}};
  for (const auto& [result, code] : refused) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().message;
  }
  EXPECT_EQ(root_.remove_account("bob").error().message,
            "the account 'bob' has the model 'bob/secret'");
  ASSERT_TRUE(bob_.remove_model("bob/secret"));
  EXPECT_EQ(bob_.model("bob/secret").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(root_.remove_account("bob"));
  EXPECT_EQ(bob_.who_am_i().error().code, ErrorCode::kUnauthenticated);
}

TEST_F(HttpApi, TokensAreRenewedByTheirOwnersAndByOperators) {
  client::Client old = world_.client(world_.alice);
  const auto renewed = alice_.renew_token("");
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_NE(renewed->token, world_.alice);
  EXPECT_EQ(old.who_am_i().error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(alice_.who_am_i()->name, "alice");
  EXPECT_EQ(bob_.renew_token("alice").error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(root_.renew_token("nobody").error().code, ErrorCode::kNotFound);
  const auto forced = root_.renew_token("alice");
  ASSERT_TRUE(forced) << forced.error().message;
  EXPECT_EQ(alice_.who_am_i().error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(world_.client(forced->token).who_am_i()->name, "alice");
}

TEST_F(HttpApi, SaysWhichPathIsNotThereAndWhichTokenIsWanted) {
  EXPECT_EQ(anyone_.get_json("/v2/models/alice/a/b").error().message,
            "there is no GET /v2/models/alice/a/b: models are named OWNER/MODEL, paths begin with "
            "/v2 or /v1");
  EXPECT_EQ(anyone_.who_am_i().error().message,
            "a token is needed, and there is none: --token-file FILE, $COMMENSAL_TOKEN or "
            "~/.config/commensal/token");
  EXPECT_EQ(anyone_.create_account("carol", "consumer").error().message,
            "a token is needed, an operator's (operator.token in the gateway's folder), and there "
            "is none: --token-file FILE, $COMMENSAL_TOKEN or ~/.config/commensal/token");
}

TEST_F(HttpApi, NamesWhatWasExpectedOfInputsAndOutputs) {
  tensor::NamedTensors inputs = picture(0);
  inputs[0].name = "picture";
  const auto named = alice_.infer("alice/digits", 0, inputs);
  EXPECT_EQ(named.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(named.error().message.find("'image' float32["), std::string::npos)
      << named.error().message;
  const auto empty =
      alice_.infer("alice/digits", 0, {{"image", tensor::Tensor::of<float>({0, 1, 8, 8}, {})}});
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(empty.error().message.find("'image' is a batch of 0"), std::string::npos);
  const double one[] = {1};
  const auto typed =
      alice_.infer("alice/digits", 0, {{"image", tensor::Tensor::of<double>({1}, one)}});
  EXPECT_EQ(typed.error().code, ErrorCode::kInvalidArgument);
  auto json = Json::parse(json_request(picture(0)));
  json["outputs"] = {{{"name", "nonsense"}}};
  const RawResponse output = post("/v2/models/alice/digits/infer", json.dump());
  EXPECT_EQ(output.status, 400);
  EXPECT_NE(output.body.find("unknown output 'nonsense'; 'alice/digits' has '"), std::string::npos)
      << output.body;
  EXPECT_EQ(post("/v2/models/alice/digits/infer", "{\"inputs\":[").status, 400);
}

// Triton's clients and their examples look for these words, and for 400.
TEST_F(HttpApi, SaysWhatModelIsUnknownAsTritonDoes) {
  struct Row {
    const char* model;
    const char* says;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"alice/nothing", "Request for unknown model: 'alice/nothing' is not found"},
           {"digits",
            "Request for unknown model: 'digits' is not found: names are OWNER/MODEL, or an alias"},
           {"alice/digits/versions/9",
            "Request for unknown model: 'alice/digits' version 9 is not found"},
           {"alice/digits/versions/wrong_specification",
            "failed to get model version from specified version string 'wrong_specification' "
            "(details: versions are 1, 2, ...)"},
       }) {
    const RawResponse refused =
        post(fmt::format("/v2/models/{}/infer", row.model), json_request(picture(0)));
    EXPECT_EQ(refused.status, 400) << row.model;
    EXPECT_EQ(Json::parse(refused.body)["error"], row.says);
    EXPECT_EQ(Json::parse(refused.body)["code"], "not-found");
  }
  const auto unknown = alice_.get_json("/v2/models/alice/nothing");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().message.find("Request for unknown model: 'alice/nothing'"),
            std::string::npos);
  EXPECT_EQ(alice_.get_json("/v1/models/alice/nothing").error().code, ErrorCode::kNotFound);
}

TEST_F(HttpApi, KnowsWhoAsks) {
  EXPECT_EQ(alice_.who_am_i()->name, "alice");
  EXPECT_EQ(root_.who_am_i()->role, "operator");
  EXPECT_EQ(anyone_.who_am_i().error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(world_.client("wrong").models().error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(anyone_.infer("alice/digits", 0, picture(0)).error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(alice_.create_account("eve", "consumer").error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(alice_.accounts().error().code, ErrorCode::kPermissionDenied);
  const auto eve = root_.create_account("eve", "consumer");
  ASSERT_TRUE(eve) << eve.error().message;
  EXPECT_EQ(world_.client(eve->token).who_am_i()->name, "eve");
  EXPECT_EQ(root_.create_account("eve", "operator").error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(root_.create_account("Eve!", "consumer").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(root_.create_account("adam", "king").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(root_.accounts()->size(), 4u);
}

TEST_F(HttpApi, PushesAndHidesModels) {
  const core::Bytes bytes = digits_model();
  client::PushRequest push{.model = "bob/secret",
                           .bytes = bytes,
                           .is_private = true,
                           .allowed_providers = {crypto::Address{}},
                           .progress = {}};
  std::size_t shown = 0;
  push.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, bytes.size());
    shown = done;
  };
  const auto pushed = bob_.push(push);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(shown, bytes.size());
  EXPECT_EQ(pushed->version, 1u);
  EXPECT_TRUE(pushed->is_private);
  EXPECT_EQ(bob_.models()->size(), 2u);
  EXPECT_EQ(alice_.models()->size(), 1u);
  EXPECT_EQ(anyone_.models()->size(), 1u);
  EXPECT_EQ(*bob_.model_content("bob/secret"), bytes);
  EXPECT_EQ(alice_.model_content("bob/secret").error().message, "unknown model 'bob/secret'");
  EXPECT_EQ(alice_.infer("bob/secret", 0, picture(0)).error().code, ErrorCode::kNotFound);
  world_.start_provider();
  const auto refused = bob_.infer("bob/secret", 0, picture(0));
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
  EXPECT_EQ(bob_.get_json("/v2/models/bob/secret/ready").error().message, refused.error().message);
}

// A page takes many turns of the loop, a few models each.
TEST_F(HttpApi, ListsTheIndexInPagesEachNameOnceAndInOrder) {
  const core::Bytes bytes = digits_model();
  std::vector<std::string> names = {"alice/digits"};
  for (const auto& [owner, client] : {std::pair("alice", &alice_), std::pair("bob", &bob_)}) {
    for (int i = 0; i < 140; ++i) {
      names.push_back(fmt::format("{}/{}{:03}", owner, std::string(61, 'm'), i));
      ASSERT_TRUE(client->push({.model = names.back(),
                                .bytes = bytes,
                                .is_private = false,
                                .allowed_providers = {},
                                .progress = {}}));
    }
  }
  std::vector<std::string> listed;
  int pages = 0;
  for (Json page; listed.size() <= names.size(); ++pages) {
    const std::string after = listed.empty() ? "" : "?after=" + listed.back();
    page = Json::parse(post("/v2/repository/index" + after, "{}").body);
    if (page.empty()) break;
    for (const Json& one : page) listed.push_back(one["name"]);
  }
  EXPECT_EQ(listed, names);
  EXPECT_EQ(pages, 2) << "64 KiB each";
}

TEST_F(HttpApi, RefusesPushesThatMayNotBe) {
  const core::Bytes bytes = digits_model();
  const core::ByteView half = core::ByteView(bytes).first(bytes.size() / 2);
  const auto push = [](const std::string& model, core::ByteView view) {
    return client::PushRequest{.model = model,
                               .bytes = view,
                               .is_private = false,
                               .allowed_providers = {},
                               .progress = {}};
  };
  EXPECT_EQ(alice_.push(push("bob/digits", bytes)).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(alice_.push(push("digits", bytes)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(anyone_.push(push("alice/x", bytes)).error().code, ErrorCode::kUnauthenticated);
  EXPECT_FALSE(alice_.push(push("alice/x", half)));
  EXPECT_FALSE(alice_.push(push("alice/x", {})));
  EXPECT_EQ(alice_.models()->size(), 1u);
}

TEST_F(HttpApi, ShowsReceiptsToTheirOwner) {
  world_.start_provider();
  const auto answer = alice_.infer("alice/digits", 0, picture(1));
  ASSERT_TRUE(answer) << answer.error().message;
  client::ReceiptInfo info;
  for (int tries = 0; tries < 2'000 && info.audit != "matched"; ++tries) {
    info = *alice_.receipt(answer->receipt);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(info.audit, "matched");
  EXPECT_EQ(info.outcome, "match");
  EXPECT_EQ(info.provider, answer->provider);
  ASSERT_TRUE(info.receipt);
  EXPECT_TRUE(protocol::verify_receipt(*info.receipt));
  const auto opening = alice_.opening(answer->receipt);
  ASSERT_TRUE(opening);
  const auto decoded = protocol::decode<receipt::Opening>(*opening);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(receipt::check_opening(*decoded, info.receipt->body()));
  ASSERT_EQ(alice_.receipts(10)->size(), 1u);
  EXPECT_EQ((*alice_.receipts(10))[0].id, answer->receipt);
  EXPECT_EQ(root_.receipts(10)->size(), 1u);
  EXPECT_TRUE(bob_.receipts(10)->empty());
  EXPECT_EQ(bob_.receipt(answer->receipt).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(bob_.opening(answer->receipt).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(alice_.get_json("/v1/receipts/12").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(alice_.get_json("/v1/receipts?count=0").error().code, ErrorCode::kInvalidArgument);
  const auto providers = Json::parse(*alice_.get_json("/v1/providers"));
  EXPECT_EQ(providers["providers"][0]["served"], 1);
  EXPECT_EQ(providers["providers"][0]["banned"], "");
  const std::string address = providers["providers"][0]["address"];
  const auto facts = Json::parse(*alice_.get_json("/v1/providers/" + address + "/facts"));
  EXPECT_EQ(facts["provider"], address);
  EXPECT_EQ(facts["events"].size(), 4u);  // stake, one answer, its audit, escrow
  EXPECT_EQ(facts["audits"]["by_risk"], true);
  EXPECT_EQ(facts["audits"]["probability"], 1);
  EXPECT_EQ(providers["providers"][0]["audit_probability"], 1);
  EXPECT_EQ(alice_.get_json("/v1/providers/12/facts").error().code, ErrorCode::kInvalidArgument);
  const auto held = Json::parse(*alice_.get_json("/v1/holders"));
  ASSERT_EQ(held["holders"].size(), 1u);
  EXPECT_EQ(held["holders"][0]["provider"], address);
  EXPECT_EQ(held["holders"][0]["connected"], true);
  EXPECT_EQ(held["next"], nullptr);
  EXPECT_EQ(Json::parse(*bob_.get_json("/v1/holders"))["holders"].size(), 0u);
  const std::string last = address + "/" + held["holders"][0]["content"].get<std::string>();
  EXPECT_EQ(Json::parse(*alice_.get_json("/v1/holders?after=" + last))["holders"].size(), 0u);
  for (const char* after : {"x", "/", "12/34"})
    EXPECT_EQ(alice_.get_json(std::string("/v1/holders?after=") + after).error().code,
              ErrorCode::kInvalidArgument);
}

TEST_F(HttpApi, ServesManyAtOnce) {
  world_.start_provider();
  std::vector<std::thread> threads;
  std::atomic<int> served = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      client::Client client = world_.client(world_.alice);
      for (std::uint64_t i = 0; i < 10; ++i)
        if (client.infer("alice/digits", 0, picture(static_cast<std::uint64_t>(t) * 100 + i)))
          ++served;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 40);
  EXPECT_EQ(alice_.receipts(100)->size(), 40u);
}

}  // namespace
}  // namespace commensal::tests
