// SPDX-License-Identifier: Apache-2.0
// Some of the peers that mean harm, for a moment each: the whole siege is a command.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <tests/e2e/process.hpp>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;

TEST(Hostile, HonestConsumersAreServedBesideThem) {
  const std::vector<std::string> attacks = {
      "slowloris",    "large-bodies",    "request-flood",  "rollout-flood", "hungry-model",
      "long-lists",   "expensive-reads", "silent-streams", "commits-twice", "any-order",
      "resume-flood", "large-answers",   "tls-hello-flood"};
  // Five seconds each, of which some attackers take two to get ready.
  std::vector<std::string> command = {"hostile", "--seconds", "65", "--json"};
  command.insert(command.end(), attacks.begin(), attacks.end());
  int status = 0;
  const Json said = Json::parse(run(command, status, COMMENSAL_LAB_PROGRAM), nullptr, false);
  ASSERT_TRUE(said.is_object());
  ASSERT_EQ(said.at("results").size(), attacks.size());
  for (const Json& one : said.at("results")) {
    EXPECT_GT(one.at("acts"), 0) << one;
    EXPECT_GT(one.at("effects"), 0) << one;
    EXPECT_GT(one.at("answers"), 0) << one;
    EXPECT_EQ(one.at("failed"), 0) << one;
    EXPECT_EQ(one.at("wrong"), 0) << one;
    EXPECT_EQ(one.at("control_failed"), 0) << one;
    EXPECT_EQ(one.at("control_wrong"), 0) << one;
    EXPECT_EQ(one.at("control_providers_late"), 0) << one;
    EXPECT_EQ(one.at("daemons_ended"), 0) << one;
    EXPECT_EQ(one.at("daemons_ended_badly"), 0) << one;
    EXPECT_EQ(one.at("long_turns"), 0) << one;
    EXPECT_EQ(one.at("complaints"), 0) << one;
    EXPECT_EQ(one.at("providers_late"), 0) << one;
    EXPECT_LT(one.at("cpu_share"), 0.35) << one;
  }
}

TEST(Hostile, UnknownAttacksAreRefusedInOneLine) {
  int status = 0;
  run({"hostile", "rain"}, status, COMMENSAL_LAB_PROGRAM);
  EXPECT_NE(status, 0);
}

}  // namespace
}  // namespace commensal::e2e
