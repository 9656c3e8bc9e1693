// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/gateway/served.hpp>

namespace commensal::gateway {
namespace {

// The fault: another network under the name of a deleted one had its answers.
TEST(Served, IsNotInheritedFromWhatWasDeleted) {
  Served served;
  EXPECT_EQ(served.of("a/m", 1), 0u);
  for (const std::uint32_t version : {1u, 2u, 2u}) served.add("a/m", version, 1);
  served.add("a/other", 1, 1);
  EXPECT_EQ(served.of("a/m", 1), 3u);
  EXPECT_EQ(served.of("a/m", 3), 0u) << "versions 1 and 2 were deleted";
  served.add("a/m", 2, 3);  // was on its way then
  EXPECT_EQ(served.of("a/m", 3), 0u);
  served.add("a/m", 3, 3);
  EXPECT_EQ(served.of("a/m", 3), 1u);
  EXPECT_EQ(served.of("a/other", 1), 1u);
}

}  // namespace
}  // namespace commensal::gateway
