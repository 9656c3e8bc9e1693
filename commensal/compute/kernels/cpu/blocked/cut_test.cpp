// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <vector>

namespace commensal::kernels::cpu {
namespace {

TEST(Cut, PartsOfARangeFollowEachOtherAndNoneIsEmpty) {
  for (const std::int64_t length : {1, 2, 7, 100, 2310, 25088}) {
    for (const std::int64_t parts : {1, 2, 3, 50, 532}) {
      if (parts > length) continue;
      std::int64_t end = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Range part = Range::part(i, parts, length);
        ASSERT_EQ(part.begin, end);
        ASSERT_GT(part.end, part.begin);
        ASSERT_LE(part.end - part.begin, ceil_div(length, parts));
        end = part.end;
      }
      ASSERT_EQ(end, length);
    }
  }
}

TEST(Cut, EveryRowOfEveryPlaneIsSomebodysOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const BlockedShape shape :
         {BlockedShape{1, 1, 1, 1}, BlockedShape{1, 72, 7, 7}, BlockedShape{1, 4, 56, 56},
          BlockedShape{3, 5, 2, 9}, BlockedShape{8, 3, 14, 14}}) {
      std::vector<std::atomic<int>> seen(
          static_cast<std::size_t>(shape.batch * shape.blocks * shape.height));
      for_each_plane(shape, pool, [&](std::int64_t plane, Range rows) {
        for (std::int64_t y = rows.begin; y < rows.end; ++y) {
          ++seen[static_cast<std::size_t>(plane * shape.height + y)];
        }
      });
      for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 1);
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
