// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/gateway/walks.hpp>
#include <string>

namespace commensal::gateway {
namespace {

using Letters = Walks<char, int>;

/// Whose turns they were; each has three.
std::string turns(Letters& walks, int count, bool starts_again = false) {
  std::string took;
  for (; count > 0 && !walks.empty(); --count) {
    walks.step([&](char name, int place) -> std::optional<int> {
      took += name;
      return place < 2 ? std::optional(place + 1) : std::nullopt;
    });
    if (starts_again) walks.add('a');
  }
  return took;
}

TEST(Walks, TakeTurnsUntilEachIsThrough) {
  Letters walks;
  EXPECT_TRUE(walks.empty());
  for (const char name : {'b', 'a', 'c'}) walks.add(name);
  EXPECT_EQ(turns(walks, 9), "abcabcabc");
  EXPECT_TRUE(walks.empty());
}

TEST(Walks, NobodyWaitsForWhoBeginsAgainAndAgain) {
  Letters walks;
  walks.add('a');
  walks.add('b');
  EXPECT_EQ(turns(walks, 6, true), "ababab");
  EXPECT_EQ(turns(walks, 2, true), "aa") << "b is through";
}

}  // namespace
}  // namespace commensal::gateway
