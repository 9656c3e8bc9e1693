// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/numbered_rows.hpp>
#include <map>
#include <vector>

namespace commensal::gateway {
namespace {

std::map<std::uint64_t, int> all_of(const NumberedRows<int>& rows) {
  std::map<std::uint64_t, int> all;
  rows.each([&](std::uint64_t number, int row) { return all.emplace(number, row).second; });
  return all;
}

TEST(NumberedRows, HoldWhatAMapHolds) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    core::CounterRng rng(seed);
    NumberedRows<int> rows;
    std::map<std::uint64_t, int> same;
    std::uint64_t least = 1'000, greatest = 1'000;
    for (int turn = 0; turn < 400; ++turn) {
      const std::uint32_t what = rng.next_u32() % 8;
      if (what < 4) {
        greatest += 1 + rng.next_u32() % 3;
        same[greatest] = rows.add(greatest, turn) = turn;
      } else if (what == 4 && !same.empty()) {
        least = same.begin()->first - 1;
        same[least] = rows.add(least, turn);
      } else {
        const std::uint64_t number = least + rng.next_u32() % (greatest - least + 2);
        EXPECT_EQ(rows.contains(number), same.contains(number));
        rows.erase(what == 5 && !same.empty() ? same.begin()->first : number);
        same.erase(what == 5 && !same.empty() ? same.begin()->first : number);
      }
      ASSERT_EQ(rows.size(), same.size()) << seed;
      const std::uint64_t from = least + rng.next_u32() % (greatest - least + 2);
      const auto next = same.lower_bound(from);
      EXPECT_EQ(rows.next(from),
                next == same.end() ? std::nullopt : std::optional<std::uint64_t>(next->first));
    }
    EXPECT_EQ(all_of(rows), same) << seed;
  }
}

TEST(NumberedRows, StopWhereTheVisitorHasEnough) {
  NumberedRows<int> rows;
  for (int i = 1; i <= 5; ++i) rows.add(static_cast<std::uint64_t>(i), i);
  rows.erase(2);
  std::vector<int> seen;
  rows.each([&](std::uint64_t, int row) {
    seen.push_back(row);
    return row < 4;
  });
  EXPECT_EQ(seen, (std::vector{1, 3, 4}));
}

TEST(NumberedRows, TakeANumberAmongOthers) {
  NumberedRows<int> rows;
  for (const int number : {1, 5, 3, 4}) rows.add(static_cast<std::uint64_t>(number), number);
  rows.erase(3);
  EXPECT_EQ(all_of(rows), (std::map<std::uint64_t, int>{{1, 1}, {4, 4}, {5, 5}}));
  rows.add(3, 7);
  EXPECT_EQ(all_of(rows), (std::map<std::uint64_t, int>{{1, 1}, {3, 7}, {4, 4}, {5, 5}}));
  EXPECT_EQ(rows.size(), 4u);
  EXPECT_DEATH(rows.add(4, 0), "a number is added once");
}

}  // namespace
}  // namespace commensal::gateway
