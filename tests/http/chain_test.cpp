// SPDX-License-Identifier: Apache-2.0
// Chains by way of HTTP: who may see what, and what is refused.
#include <gmock/gmock.h>

#include <commensal/base/core/file.hpp>
#include <commensal/verify/chain/record.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class HttpChains : public ::testing::Test {
 protected:
  HttpChains() {
    const core::Bytes model = *core::read_file(COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx");
    client::PushRequest request;
    request.model = "alice/letters";
    request.bytes = model;
    core::check(alice_.push(request).has_value(), "a model is pushed");
  }
  static client::ChainOrder order() {
    const std::vector<std::int64_t> letter = {20};
    const std::vector<float> state(160, 0);
    return {.model = "alice/letters",
            .version = 0,
            .key = "",
            .steps = 12,
            .feeds = {{"next", "letter"}, {"state_out", "state"}},
            .noise = 16,
            .states = "movable",
            .audit_probability = 1,
            .inputs = {{"letter", tensor::Tensor::of<std::int64_t>({1}, letter)},
                       {"state", tensor::Tensor::of<float>({1, 160}, state)}}};
  }
  core::Result<client::ChainInfo> insist(const client::ChainOrder& wanted) {
    auto made = alice_.start_chain(wanted);
    for (int tries = 0; !made && made.error().code == ErrorCode::kUnavailable && tries < 200;
         ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      made = alice_.start_chain(wanted);
    }
    return made;
  }
  RawResponse post(const std::string& body) {
    RawClient raw(world_.port());
    raw.send(
        fmt::format("POST /v1/chains HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    world_.alice, body.size(), body));
    return raw.receive();
  }

  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  client::Client alice_ = world_.client(world_.alice);
  client::Client bob_ = world_.client(world_.bob);
  client::Client root_ = world_.client(world_.root);
};

TEST_F(HttpChains, AreMadeFollowedAndShownToTheirOwnerOnly) {
  world_.start_provider();
  client::ChainOrder wanted = order();
  wanted.key = "mine";
  const auto made = insist(wanted);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(alice_.start_chain(wanted)->id, made->id);
  auto info = alice_.chain(made->id);
  for (int tries = 0; info && !info->is_over() && tries < 200; ++tries) {
    info = alice_.chain(made->id, info->links, 500);
  }
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->state, "finished");
  EXPECT_EQ(info->links, 12u);
  EXPECT_EQ(info->audits_matched, 12u);
  const auto link = chain::decode_link_record(*alice_.chain_link(info->id, 12));
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(receipt::state_root(link->outputs), info->final_state);
  EXPECT_EQ(alice_.chain_link(info->id, 13).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(chain::decode_chain_record(*alice_.chain_record(info->id))->job.steps, 12u);

  EXPECT_EQ(bob_.chain(info->id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(bob_.chain_link(info->id, 1).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(root_.chain(info->id).has_value());
  EXPECT_EQ(Json::parse(*bob_.get_json("/v1/chains")).at("chains").size(), 0u);
  EXPECT_EQ(Json::parse(*alice_.get_json("/v1/chains")).at("chains").size(), 1u);
  EXPECT_EQ(world_.client("").chain(info->id).error().code, ErrorCode::kUnauthenticated);
  // Another account's key is another key.
  wanted.model = "alice/letters";
  EXPECT_NE(bob_.start_chain(wanted)->id, info->id);
}

TEST_F(HttpChains, AuditorsAreTheOperators) {
  EXPECT_EQ(alice_.take_audit().error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(root_.take_audit()->size(), 0u);
  EXPECT_EQ(root_.answer_audit(core::Digest{}, core::Digest{}).error().code,
            ErrorCode::kNotFound);
}

TEST_F(HttpChains, WithoutAProviderTheReasonIsSaid) {
  const auto made = alice_.start_chain(order());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(made.error().message, HasSubstr("none is connected"));
}

TEST_F(HttpChains, WhatMakesNoSenseIsRefusedByName) {
  struct Case {
    std::string_view says;
    std::function<void(client::ChainOrder&)> spoil;
  };
  const Case cases[] = {
      {"\"model\", \"steps\" and \"inputs\" are needed", [](auto& one) { one.steps = 0; }},
      {"expected 0 to 1048576", [](auto& one) { one.steps = std::uint64_t{1} << 21; }},
      {"unknown model", [](auto& one) { one.model = "alice/none"; }},
      {"feeds at least one", [](auto& one) { one.feeds.clear(); }},
      {"no output 'nothing'", [](auto& one) { one.feeds[0].first = "nothing"; }},
      {"no input 'nothing'", [](auto& one) { one.feeds[0].second = "nothing"; }},
      {"cannot be input 'state'", [](auto& one) { one.feeds[0].second = "state"; }},
      {"expected none or 0 to 100", [](auto& one) { one.noise = 101; }},
      {"states is movable, but noise is none", [](auto& one) { one.noise.reset(); }},
      {"expected any, finite or movable", [](auto& one) { one.states = "solid"; }},
      {"a number from 0 to 1", [](auto& one) { one.audit_probability = 1.5; }},
      {"a key is at most 64 bytes", [](auto& one) { one.key = std::string(65, 'k'); }},
      {"input 'state' is missing", [](auto& one) { one.inputs.pop_back(); }},
      {"unknown input 'x'",
       [](auto& one) {
         one.inputs.push_back({"x", one.inputs[0].value});
       }},
  };
  world_.start_provider();
  ASSERT_TRUE(insist(order()));
  for (const Case& bad : cases) {
    client::ChainOrder wanted = order();
    bad.spoil(wanted);
    const auto made = alice_.start_chain(wanted);
    ASSERT_FALSE(made) << bad.says;
    EXPECT_THAT(made.error().message, HasSubstr(bad.says));
  }
  for (const char* const body : {"", "{", "[]", "{\"steps\":1}", "{\"other\":1}",
                                 "{\"feeds\":[[\"a\"]]}", "{\"steps\":-1}"}) {
    EXPECT_EQ(post(body).status, 400) << body;
  }
  const std::string chain = "/v1/chains/" + std::string(64, '0');
  for (const std::string& target : {std::string("/v1/chains/12"), chain + "?after=x",
                                    chain + "?wait_ms=99999999", chain + "/links/x"}) {
    EXPECT_FALSE(alice_.get_json(target)) << target;
  }
}

}  // namespace
}  // namespace commensal::tests
