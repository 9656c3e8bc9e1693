// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <apps/commensal/model_name.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

TEST(ModelName, HasAVersionBehindAColon) {
  const auto plain = read_model_name("alice/digits");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->model, "alice/digits");
  EXPECT_EQ(plain->version, 0u);
  const auto third = read_model_name("alice/digits:3");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->model, "alice/digits");
  EXPECT_EQ(third->version, 3u);
  EXPECT_EQ(read_model_name("digits:4294967295")->version, 4294967295u);
  EXPECT_EQ(read_model_name("digits", 2)->version, 2u);
  EXPECT_EQ(read_model_name("digits:2", 2)->version, 2u);
}

TEST(ModelName, IsLeftAsItIsWhereNoNumberStandsThere) {
  for (const char* other : {"alice/digits:", "alice/digits:new", "alice/digits:1a", "a:1/digits",
                            "alice/digits:-1", ":", ""}) {
    const auto named = read_model_name(other, 5);
    ASSERT_TRUE(named) << other;
    EXPECT_EQ(named->model, other);
    EXPECT_EQ(named->version, 5u);
  }
}

TEST(ModelName, IsRefusedWithAVersionThatIsNone) {
  for (const char* bad : {"digits:0", "digits:4294967296", "digits:99999999999999999999999"}) {
    const auto named = read_model_name(bad);
    ASSERT_FALSE(named) << bad;
    EXPECT_THAT(named.error().message, HasSubstr("a version is a number from 1 to 4294967295"));
  }
  const auto two = read_model_name("alice/digits:1", 2);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message,
            "'alice/digits:1' and --version 2 name two versions: give one of them");
}

TEST(ModelName, IsSuggestedWhereItIsMistyped) {
  const std::vector<std::string> known = {"alice/digits", "bob/birds"};
  EXPECT_EQ(nearest_model("alice/diggits", known), "alice/digits");
  EXPECT_EQ(nearest_model("carol/birds", known), "bob/birds");
  EXPECT_EQ(nearest_model("alice/digits", known), "");  // the version is what is unknown
  EXPECT_EQ(nearest_model("zebra/crossing", known), "");
  EXPECT_EQ(nearest_model("alice/digits", {}), "");
}

}  // namespace
}  // namespace commensal::apps
