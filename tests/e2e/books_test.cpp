// SPDX-License-Identifier: Apache-2.0
// What the books of a gateway and its providers are held to, where the gateway's was full.
#include <gtest/gtest.h>

#include <tests/e2e/books.hpp>

namespace commensal::e2e {
namespace {

constexpr core::Digest kBeacon{1}, kOther{2};

// The fault: where so many tickets had been issued that a book may be full, any might be missing.
TEST(Books, OfAFullOneTheOldestThatHaveLostMayBeMissing) {
  const Losers kept{.tickets = {{"kept", {kBeacon, 7}}, {"later", {kBeacon, 9}}}, .dropped = 9};
  const Losers theirs{.tickets = {{"older", {kBeacon, 6}},
                                  {"as old", {kBeacon, 7}},
                                  {"younger", {kBeacon, 8}},
                                  {"another's", {kOther, 8}}},
                      .dropped = 0};
  Dropped dropped(kept, theirs);
  EXPECT_TRUE(dropped.may("older"));
  EXPECT_TRUE(dropped.may("as old"));
  EXPECT_TRUE(dropped.may("another's"));
  EXPECT_FALSE(dropped.may("younger"));
  EXPECT_FALSE(dropped.may("that has not lost"));
}

TEST(Books, NoMoreMayBeMissingThanWereDropped) {
  const Losers theirs{.tickets = {{"a", {kBeacon, 1}}, {"b", {kBeacon, 1}}}, .dropped = 0};
  Dropped none({}, theirs), one({.tickets = {}, .dropped = 1}, theirs);
  EXPECT_FALSE(none.may("a"));
  EXPECT_TRUE(one.may("a"));
  EXPECT_FALSE(one.may("b"));
}

TEST(Books, OfWhatTheirsHaveDroppedTooNothingCanBeSaid) {
  const Losers theirs{.tickets = {}, .dropped = 1};
  Dropped dropped({.tickets = {}, .dropped = 3}, theirs);
  EXPECT_TRUE(dropped.may("a"));
  EXPECT_FALSE(dropped.may("b"));
}

}  // namespace
}  // namespace commensal::e2e
