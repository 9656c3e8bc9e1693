// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/collocation/guest/duty_pacer.hpp>
#include <thread>
#include <vector>

namespace commensal::guest {
namespace {

/// Works until `cpu_ns` of this thread's own time are spent, in pieces of a tenth of a millisecond.
void work(core::Pacer& pacer, std::int64_t cpu_ns) {
  const std::int64_t end_ns = core::thread_cpu_ns() + cpu_ns;
  while (core::thread_cpu_ns() < end_ns) {
    pacer.yield();
    const std::int64_t piece_ns = core::thread_cpu_ns() + 100'000;
    while (core::thread_cpu_ns() < piece_ns) {
    }
  }
}

// Only too slow can be blamed on the machine: at a level of a quarter, 40 ms of work need at least
// three times as much rest.
TEST(DutyPacer, RestsAsTheLevelSays) {
  const core::SystemClock clock;
  DutyPacer pacer;
  pacer.set_level(0.25);
  std::int64_t wall_ns = 0;
  std::thread([&] {
    work(pacer, 4'000'000);  // what was before does not count
    const std::int64_t begin_ns = clock.monotonic_ns();
    work(pacer, 40'000'000);
    wall_ns = clock.monotonic_ns() - begin_ns;
  }).join();
  EXPECT_GE(wall_ns, 40'000'000 + 3 * 36'000'000);
}

TEST(DutyPacer, HoldsAltogetherAtZeroAndGoesOn) {
  DutyPacer pacer;
  std::atomic<bool> is_done = false;
  std::thread guest([&] {
    EXPECT_TRUE(pacer.pace(1));
    is_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(is_done);
  EXPECT_TRUE(pacer.is_resting());
  pacer.set_level(1);
  guest.join();
  EXPECT_FALSE(pacer.is_resting());
  EXPECT_TRUE(is_done);
}

TEST(DutyPacer, StopFreesWhoRestsAndEndsTheGuest) {
  DutyPacer pacer;
  std::thread guest([&] { EXPECT_FALSE(pacer.pace(1)); });
  pacer.stop();
  guest.join();
  EXPECT_FALSE(pacer.pace(1));
}

TEST(DutyPacer, KeepsLevelsInRange) {
  DutyPacer pacer;
  EXPECT_EQ(pacer.level(), 0);
  pacer.set_level(7);
  EXPECT_EQ(pacer.level(), 1);
  pacer.set_level(-1);
  EXPECT_EQ(pacer.level(), 0);
}

// As a process of its own would: by memory that it may read alone.
TEST(DutyPacer, IsFollowedElsewhere) {
  DutyPacer pacer;
  ASSERT_NE(pacer.memory(), nullptr);
  std::atomic<std::int32_t> resting = 0;
  const auto follower = follow_pace(*pacer.memory()->for_readers(), resting);
  ASSERT_NE(follower, nullptr);
  std::atomic<bool> is_done = false;
  std::thread guest([&] {
    EXPECT_TRUE(follower->pace(1));
    is_done = true;
    pacer.set_level(0);
    EXPECT_FALSE(follower->pace(1));  // stopped
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(is_done);
  EXPECT_EQ(resting, 1);
  EXPECT_FALSE(pacer.is_resting());  // until it is told
  pacer.tell_rest(true);
  EXPECT_TRUE(pacer.is_resting());
  pacer.set_level(1);
  while (!is_done || resting == 0) std::this_thread::yield();
  pacer.stop();
  guest.join();
  EXPECT_EQ(resting, 0);
}

TEST(DutyPacer, HoldsNobodyElsewhereWhoIsCancelled) {
  for (const double level : {0.0, 1e-9}) {
    DutyPacer pacer;
    pacer.set_level(level);
    std::atomic<std::int32_t> resting = 0;
    std::atomic<bool> is_cancelled = false;
    const auto follower =
        follow_pace(*pacer.memory()->for_readers(), resting, [&] { return is_cancelled.load(); });
    std::thread guest([&] { work(*follower, 4'000'000); });
    while (resting == 0) std::this_thread::yield();
    is_cancelled = true;
    guest.join();  // or never
    EXPECT_EQ(resting, 0);
  }
}

TEST(DutyPacer, HoldsElsewhereAsTheLevelSays) {
  const core::SystemClock clock;
  DutyPacer pacer;
  pacer.set_level(0.25);
  std::atomic<std::int32_t> resting = 0;
  const auto follower = follow_pace(*pacer.memory()->for_readers(), resting);
  std::int64_t wall_ns = 0;
  std::thread([&] {
    work(*follower, 4'000'000);  // what was before does not count
    const std::int64_t begin_ns = clock.monotonic_ns();
    work(*follower, 40'000'000);
    wall_ns = clock.monotonic_ns() - begin_ns;
  }).join();
  EXPECT_GE(wall_ns, 40'000'000 + 3 * 36'000'000);
}

}  // namespace
}  // namespace commensal::guest
