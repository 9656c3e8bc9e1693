// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/recently_used.hpp>
#include <string>

namespace commensal::core {
namespace {

TEST(RecentlyUsed, LetsGoOfWhatWasNotAskedForLongest) {
  RecentlyUsed<int, std::string> kept(2);
  kept.add(1, "one");
  kept.add(2, "two");
  ASSERT_NE(kept.find(1), nullptr);
  EXPECT_EQ(*kept.find(1), "one");
  kept.add(3, "three");
  EXPECT_EQ(kept.find(2), nullptr);
  EXPECT_NE(kept.find(1), nullptr);
  EXPECT_NE(kept.find(3), nullptr);
}

}  // namespace
}  // namespace commensal::core
