// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/common/nearest.hpp>
#include <vector>

namespace commensal::apps {
namespace {

TEST(Nearest, FindsWhatIsAFewLettersAway) {
  const std::vector<std::string> known = {"gateway", "provider", "push", "run", "receipts"};
  EXPECT_EQ(nearest("gatway", known), "gateway");
  EXPECT_EQ(nearest("gatewya", known), "gateway");
  EXPECT_EQ(nearest("provders", known), "provider");
  EXPECT_EQ(nearest("rum", known), "run");
  EXPECT_EQ(nearest("push", known), "push");
  EXPECT_EQ(nearest("receipt", known), "receipts");
}

TEST(Nearest, SaysNothingOfWhatIsFarOff) {
  const std::vector<std::string> known = {"gateway", "provider", "push", "run"};
  EXPECT_EQ(nearest("models", known), "");
  EXPECT_EQ(nearest("x", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("gateway", {}), "");
}

}  // namespace
}  // namespace commensal::apps
