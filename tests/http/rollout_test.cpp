// SPDX-License-Identifier: Apache-2.0
// Rollouts by way of HTTP: who may see what, and what is refused.
#include <gmock/gmock.h>

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/record.hpp>
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

class HttpRollouts : public ::testing::Test {
 protected:
  HttpRollouts() {
    const core::Bytes model = *core::read_file(COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx");
    client::PushRequest request;
    request.model = "alice/letters";
    request.bytes = model;
    core::check(alice_.push(request).has_value(), "a model is pushed");
  }
  static client::RolloutOrder order() {
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
  core::Result<client::RolloutInfo> insist(const client::RolloutOrder& wanted) {
    auto made = alice_.start_rollout(wanted);
    for (int tries = 0; !made && made.error().code == ErrorCode::kUnavailable && tries < 200;
         ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      made = alice_.start_rollout(wanted);
    }
    return made;
  }
  RawResponse post(const std::string& body) {
    RawClient raw(world_.port());
    raw.send(
        fmt::format("POST /v1/rollouts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    world_.alice, body.size(), body));
    return raw.receive();
  }

  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  client::Client alice_ = world_.client(world_.alice);
  client::Client bob_ = world_.client(world_.bob);
  client::Client root_ = world_.client(world_.root);
};

TEST_F(HttpRollouts, AreCancelledByTheirOwner) {
  world_.start_provider();
  client::RolloutOrder wanted = order();
  wanted.steps = 100'000;
  const auto made = insist(wanted);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_GE(alice_.rollout(made->id, 0, 10'000)->steps_done, 1u);
  EXPECT_EQ(bob_.cancel_rollout(made->id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(alice_.rollout(made->id)->state, "running");
  ASSERT_TRUE(alice_.cancel_rollout(made->id));
  const auto info = alice_.rollout(made->id);
  EXPECT_EQ(info->state, "cancelled");
  EXPECT_LT(info->steps_done, 100'000u);
  EXPECT_TRUE(alice_.rollout_step(made->id, 1));
  EXPECT_TRUE(alice_.cancel_rollout(made->id));
}

TEST_F(HttpRollouts, AreMadeFollowedAndShownToTheirOwnerOnly) {
  world_.start_provider();
  client::RolloutOrder wanted = order();
  wanted.key = "mine";
  const auto made = insist(wanted);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(alice_.start_rollout(wanted)->id, made->id);
  auto info = alice_.rollout(made->id);
  for (int tries = 0; info && !info->is_over() && tries < 200; ++tries) {
    info = alice_.rollout(made->id, info->steps_done, 500);
  }
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->state, "finished");
  EXPECT_EQ(info->steps_done, 12u);
  EXPECT_EQ(info->audits_matched, 12u);
  const auto record = protocol::decode<rollout::StepRecord>(*alice_.rollout_step(info->id, 12));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(receipt::state_root(record->outputs), info->final_state);
  // Any step's receipt is opened as a single answer's is, and checked by the same call.
  const protocol::Receipt& last = record->step.receipt();
  const core::Digest id = protocol::receipt_id(last.body());
  const auto opening = protocol::decode<receipt::Opening>(*alice_.opening(id));
  ASSERT_TRUE(opening) << opening.error().message;
  const auto found = receipt::recheck(
      last, *opening,
      *graph::onnx::import_file(COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx"), {},
      [](std::string_view) {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->matches());
  EXPECT_EQ(bob_.opening(id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(alice_.rollout_step(info->id, 13).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(protocol::decode<rollout::JobRecord>(*alice_.rollout_record(info->id))->job.steps, 12u);

  EXPECT_EQ(bob_.rollout(info->id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(bob_.rollout_step(info->id, 1).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(root_.rollout(info->id).has_value());
  EXPECT_EQ(Json::parse(*bob_.get_json("/v1/rollouts")).at("rollouts").size(), 0u);
  EXPECT_EQ(Json::parse(*alice_.get_json("/v1/rollouts")).at("rollouts").size(), 1u);
  EXPECT_EQ(world_.client("").rollout(info->id).error().code, ErrorCode::kUnauthenticated);
  // Another account's key is another key.
  wanted.model = "alice/letters";
  EXPECT_NE(bob_.start_rollout(wanted)->id, info->id);
}

// The fault: a training looked for its own among the newest 100 of everybody's, where it asked as
// an operator.
TEST_F(HttpRollouts, AreFoundByTheirKeysAmongTheAccountsOwn) {
  world_.start_provider();
  const auto begin = [&](const std::string& key) {
    client::RolloutOrder wanted = order();
    wanted.key = key;
    const auto made = insist(wanted);
    EXPECT_TRUE(made) << made.error().message;
    return made ? core::to_hex(made->id) : "";
  };
  const std::string first = begin("ab-1");
  begin("ba-1");
  const auto found = [](client::Client& client, const std::string& query) {
    std::vector<std::string> ids;
    const Json said = Json::parse(*client.get_json("/v1/rollouts" + query));
    for (const Json& one : said.at("rollouts")) ids.push_back(one.at("rollout"));
    return ids;
  };
  EXPECT_EQ(found(alice_, "?key=ab-"), std::vector{first});
  EXPECT_EQ(found(alice_, "").size(), 2u);
  EXPECT_EQ(found(root_, "").size(), 2u);
  EXPECT_EQ(found(root_, "?key=").size(), 0u);
  EXPECT_EQ(found(bob_, "?key=ab-").size(), 0u);
  const auto listed = alice_.rollouts("ab-");
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(core::to_hex(listed->front().id), first);
  EXPECT_EQ(listed->front().key, "ab-1");
  EXPECT_EQ(alice_.rollouts("")->size(), 2u);
  EXPECT_EQ(alice_.rollouts("a&b")->size(), 0u);
}

TEST_F(HttpRollouts, AuditorsHaveARoleAndAnswerWithTheirStake) {
  const auto key = *crypto::SecretKey::from_bytes(core::Digest{9});
  const auto report = protocol::sign_report(key, {});
  EXPECT_EQ(alice_.take_audit(key.address()).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(root_.take_audit(key.address())->size(), 0u);
  EXPECT_EQ(alice_.next_case(key.address()).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(alice_.next_case(key.address(), core::Digest{1})->size(), 0u);
  EXPECT_EQ(root_.next_case(key.address())->size(), 0u);
  EXPECT_EQ(root_.next_case(key.address(), core::Digest{1})->size(), 0u);
  EXPECT_EQ(root_.answer_audit(report).error().code, ErrorCode::kNotFound);
  auto forged = report;
  forged.output_root[0] ^= 1;
  EXPECT_EQ(root_.answer_audit(forged).error().code, ErrorCode::kUnauthenticated);
  auto auditor = world_.client(root_.create_account("trudy", "auditor")->token);
  const std::string address = crypto::to_text(key.address());
  const std::string no_stake = fmt::format(
      "auditor {0} has a stake of 0 here, 1000 answer for a report: the operator books it in "
      "(account deposit {0} 1000 --yes), then the auditor locks it (stake lock 1000 --data-dir "
      "FOLDER)",
      address);
  EXPECT_THAT(auditor.take_audit(key.address()).error().message, HasSubstr(no_stake));
  const auto refused = auditor.answer_audit(report);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr(no_stake));
  // Nothing else of an operator's.
  EXPECT_EQ(auditor.create_account("x", "consumer").error().code, ErrorCode::kPermissionDenied);
}

TEST_F(HttpRollouts, WithoutAProviderTheReasonIsSaid) {
  const auto made = alice_.start_rollout(order());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(made.error().message, HasSubstr("none is connected"));
}

TEST_F(HttpRollouts, WhatMakesNoSenseIsRefusedByName) {
  struct Case {
    std::string_view says;
    std::function<void(client::RolloutOrder&)> spoil;
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
    client::RolloutOrder wanted = order();
    bad.spoil(wanted);
    const auto made = alice_.start_rollout(wanted);
    ASSERT_FALSE(made) << bad.says;
    EXPECT_THAT(made.error().message, HasSubstr(bad.says));
  }
  for (const char* const body : {"", "{", "[]", "{\"steps\":1}", "{\"other\":1}",
                                 "{\"feeds\":[[\"a\"]]}", "{\"steps\":-1}"}) {
    EXPECT_EQ(post(body).status, 400) << body;
  }
  const std::string rollout = "/v1/rollouts/" + std::string(64, '0');
  for (const std::string& target : {std::string("/v1/rollouts/12"), rollout + "?after=x",
                                    rollout + "?wait_ms=99999999", rollout + "/steps/x"}) {
    EXPECT_FALSE(alice_.get_json(target)) << target;
  }
}

}  // namespace
}  // namespace commensal::tests
