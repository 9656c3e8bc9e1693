// SPDX-License-Identifier: Apache-2.0
// Spot checks by a consumer, of answers with wide outputs: `commensal audit --elements`.
#include <gmock/gmock.h>

#include <commensal/lab/super_resolution.hpp>

#include <tests/e2e/spot.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;

class SpotChecks : public SpotSystem {
 protected:
  void SetUp() override {
    SpotSystem::SetUp();
    serve(lab::super_resolution(1));
  }
  /// Its answer, 768 x 768, is in a file at the gateway.
  static tensor::NamedTensors picture() { return {{"image", noise({1, 1, 256, 256})}}; }
};

TEST_F(SpotChecks, ARightAnswerMatchesForAFractionOfItsCost) {
  const auto provider = start_provider("honest");
  const std::string id = receipt(picture());
  const Json said = Json::parse(audit(id, {"--elements", "4", "--json", "--beside-replay"}));
  EXPECT_EQ(status_, 0);
  EXPECT_EQ(said.at("outcome"), "match");
  EXPECT_EQ(said.at("committed"), said.at("recomputed"));
  EXPECT_EQ(said.at("elements").at("checked"), 4);
  EXPECT_EQ(said.at("elements").at("of"), 768 * 768);
  EXPECT_LT(said.at("cost").at("operations").get<double>(),
            0.2 * said.at("cost").at("operations_of_replay").get<double>());
  const std::string text = audit(id, {"--wrong-share", "0.5", "--miss", "0.1"});
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(text, HasSubstr("checked   4 of 589824 elements of 'enlarged'"));
  EXPECT_THAT(text, HasSubstr("MATCH of 4 elements: an answer of which 50 % is wrong is found with "
                              "a chance of at least 0.9375"));
  EXPECT_EQ(audit(id, {"--wrong-share", "0.5"}), "");
  EXPECT_EQ(status_, 1);
}

TEST_F(SpotChecks, ACheatIsFound) {
  const Process cheat({"cheat", "--gateway", "127.0.0.1:" + provider_port_, "--data-dir",
                       folder_.at("cheat"), "--json"},
                      folder_.at("cheat.log"), COMMENSAL_LAB_PROGRAM);
  const std::string id = receipt(picture());
  const Json said = Json::parse(audit(id, {"--elements", "64", "--json"}));
  EXPECT_EQ(status_, 2);
  EXPECT_EQ(said.at("outcome"), "mismatch");
  EXPECT_EQ(said.at("recomputed"), nullptr);
  const Json& first = said.at("elements").at("first");
  EXPECT_EQ(first.at("output"), "enlarged");
  EXPECT_NE(first.at("committed"), first.at("computed"));
  EXPECT_THAT(audit(id, {"--elements", "64"}), HasSubstr("MISMATCH: element "));
  EXPECT_EQ(status_, 2);
}

}  // namespace
}  // namespace commensal::e2e
