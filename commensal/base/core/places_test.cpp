// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/places.hpp>
#include <commensal/base/core/rng.hpp>
#include <vector>

namespace commensal::core {
namespace {

/// So many connections of a party, a nanosecond apart.
struct Row {
  std::string party;
  bool is_known = false;
  int count = 0;
  std::int64_t since_ns = 0;  // of the oldest
  int at_work = 0;            // of them, from the oldest on
};

struct Case {
  std::string name;
  std::vector<Row> rows;
  std::string leaves;  // "PARTY SINCE", or "nobody"
};

std::vector<Place> places_of(const std::vector<Row>& rows) {
  std::vector<Place> places;
  for (const Row& row : rows) {
    for (int i = 0; i < row.count; ++i)
      places.push_back({row.party, row.is_known, i < row.at_work, row.since_ns + i});
  }
  return places;
}

std::string leaver(const std::vector<Place>& places) {
  const auto chosen = who_leaves(places);
  if (!chosen) return "nobody";
  return places[*chosen].party + " " + std::to_string(places[*chosen].since_ns);
}

/// Parties of one connection each, the first the oldest.
std::vector<Row> crowd(int count, std::int64_t since_ns) {
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i)
    rows.push_back({"crowd" + std::to_string(i), false, 1, since_ns + i});
  return rows;
}

std::vector<Row> with(std::vector<Row> rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

std::vector<Case> cases() {
  return {
      {"nobody is there", {}, "nobody"},
      {"all are at work", {{"a", true, 8, 1, 8}}, "nobody"},
      {"an account that hoards", {{"a", true, 1023, 5}, {"new", false, 1, 2}}, "a 5"},
      {"it hoards, and some of its are at work", {{"a", true, 1000, 5, 200}}, "a 205"},
      {"of two that hoard the larger", {{"a", true, 400, 1}, {"b", true, 624, 9}}, "b 9"},
      {"a hoard, whatever strangers do", with(crowd(424, 1), {{"a", true, 600, 9}}), "a 9"},
      {"one address beside a smaller hoard", {{"a", true, 400, 1}, {"n", false, 624, 9}}, "n 9"},
      {"strangers beyond their quarter",
       with(crowd(300, 9), {{"a", true, 20, 1}, {"b", true, 9, 2}}), "crowd0 9"},
      {"strangers keep their quarter",
       with(crowd(256, 1),
            {{"a", true, 200, 5}, {"b", true, 199, 3}, {"c", true, 190, 2}, {"d", true, 179, 2}}),
       "a 5"},
      {"even they leave where all others are at work",
       with(crowd(10, 4), {{"a", true, 100, 1, 100}}), "crowd0 4"},
      {"one that is known stays, however long it is silent",
       with(crowd(1023, 9), {{"bob", true, 1, 1}}), "crowd0 9"},
      {"among many addresses the largest", with(crowd(600, 1), {{"n", false, 100, 700}}), "n 700"},
      {"what one opens at once is no larger", with(crowd(1000, 1), {{"honest", false, 8, 2000}}),
       "crowd0 1"},
      {"on a tie the oldest",
       {{"x", false, 1, 30},
        {"y", false, 1, 20},
        {"z", false, 1, 25},
        {"v", false, 1, 40},
        {"w", false, 1, 50}},
       "y 20"},
      {"likewise among accounts",
       {{"a", true, 3, 30},
        {"b", true, 2, 20},
        {"c", true, 3, 25},
        {"d", true, 3, 50},
        {"e", true, 3, 50}},
       "b 20"},
      {"an account that is called as an address",
       {{"n", true, 20, 1},
        {"n", false, 21, 9},
        {"o", false, 20, 3},
        {"p", false, 20, 3},
        {"q", false, 20, 3}},
       "n 9"},
  };
}

TEST(Places, WhoHasMostMakesRoom) {
  for (const Case& one : cases()) {
    std::vector<Place> places = places_of(one.rows);
    EXPECT_EQ(leaver(places), one.leaves) << one.name;
    std::ranges::reverse(places);
    EXPECT_EQ(leaver(places), one.leaves) << one.name;
    std::rotate(places.begin(), places.begin() + std::ssize(places) / 3, places.end());
    EXPECT_EQ(leaver(places), one.leaves) << one.name;
  }
}

// While anybody older is there in a party as large, or larger, who has only just come stays.
TEST(Places, TheYoungestIsSpared) {
  core::CounterRng random(5, 0);
  for (int i = 0; i < 2'000; ++i) {
    std::vector<Place> places(1 + random.next_u32() % 60);
    for (std::size_t k = 0; k < places.size(); ++k) {
      places[k] = {std::string(1, static_cast<char>('a' + random.next_u32() % 4)), false, false,
                   static_cast<std::int64_t>(random.next_u32() % 1000)};
    }
    const auto chosen = who_leaves(places);
    ASSERT_TRUE(chosen);
    const auto size_of = [&](const std::string& party) {
      return std::ranges::count(places, party, &Place::party);
    };
    for (const Place& other : places) {
      if (other.party != places[*chosen].party) continue;
      EXPECT_GE(other.since_ns, places[*chosen].since_ns);
    }
    const auto most =
        std::ranges::max(places, {}, [&](const Place& p) { return size_of(p.party); });
    if (size_of(most.party) > 16) {
      EXPECT_EQ(size_of(places[*chosen].party), size_of(most.party));
    }
  }
}

// Strangers of any number of networks come all the time: who needs a moment to say who it is gets
// it, as long as they do not all come within that moment.
TEST(Places, ANewcomerHasTimeToSayWhoItIs) {
  std::vector<Place> places = places_of(crowd(1016, 0));
  for (int i = 0; i < 8; ++i) places.push_back({"honest", false, false, 5'000 + i});
  for (int i = 0; i < 1'000; ++i) {
    const auto chosen = who_leaves(places);
    ASSERT_TRUE(chosen);
    ASSERT_NE(places[*chosen].party, "honest") << i;
    places[*chosen] = {"later" + std::to_string(i), false, false, 6'000 + i};
  }
}

TEST(WhoGivesBack, IsTheLargestOfThePartyThatHasMost) {
  const std::vector<Holding> all = {{"crowd", 100}, {"crowd", 150}, {"honest", 1}, {"other", 200}};
  EXPECT_EQ(who_gives_back(all, 2, 1'000), 1U);
  EXPECT_EQ(who_gives_back(all, 3, 1'000), 1U);
}

TEST(WhoGivesBack, IsTheAskerOfThatPartyOrOfOneThatHasTooMuch) {
  const std::vector<Holding> all = {{"crowd", 100}, {"crowd", 150}, {"honest", 1}, {"other", 200}};
  EXPECT_EQ(who_gives_back(all, 0, 1'000), 0U);
  EXPECT_EQ(who_gives_back(all, 3, 199), 3U);
}

}  // namespace
}  // namespace commensal::core
