// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace commensal::core {
namespace {

using Lane = Loop::Lane;

TEST(ThreadLoop, RunsTasksInTheOrderOfPostingAcrossThreads) {
  ThreadLoop loop;
  std::vector<int> seen;
  loop.post([&] {
    loop.post([&] { seen.push_back(1); });
    std::thread([&] { loop.post([&] { seen.push_back(2); }); }).join();
    loop.post([&] { seen.push_back(3); });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(seen, (std::vector{1, 2, 3}));
}

TEST(ThreadLoop, TimersRunNoEarlierThanAsked) {
  ThreadLoop loop;
  std::vector<int> seen;
  const SystemClock clock;
  const std::int64_t begin_ns = clock.monotonic_ns();
  std::int64_t end_ns = 0;
  loop.after(30, [&] {
    seen.push_back(30);
    end_ns = clock.monotonic_ns();
    loop.stop();
  });
  loop.after(5, [&] { seen.push_back(5); });
  loop.run();
  EXPECT_EQ(seen, (std::vector{5, 30}));
  EXPECT_GE(end_ns - begin_ns, 30'000'000);
}

TEST(ThreadLoop, OffloadsToOneThreadInOrderAndReturnsToTheLoop) {
  ThreadLoop loop;
  std::thread::id loop_thread;
  std::vector<int> worked;
  std::vector<int> done;
  loop.post([&] {
    loop_thread = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i) {
      loop.offload(
          Lane::kComputing,
          [&, i] {
            EXPECT_NE(std::this_thread::get_id(), loop_thread);
            worked.push_back(i);
          },
          [&, i] {
            EXPECT_EQ(std::this_thread::get_id(), loop_thread);
            done.push_back(i);
            if (i == 99) loop.stop();
          });
    }
  });
  loop.run();
  ASSERT_EQ(done.size(), 100u);
  EXPECT_EQ(worked, done);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(ThreadLoop, OneLaneDoesNotWaitForTheOther) {
  ThreadLoop loop;
  std::promise<void> over;
  loop.post([&] {
    loop.offload(
        Lane::kComputing, [&] { over.get_future().wait(); }, [&] { loop.stop(); });
    loop.offload(
        Lane::kFiles, [] {}, [&] { over.set_value(); });
  });
  loop.run();  // for ever, if it waited
}

TEST(ThreadLoop, TakesPostsFromManyThreads) {
  ThreadLoop loop;
  loop.start();
  int count = 0;  // touched on the loop only
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) loop.post([&] { ++count; });
    });
  }
  for (auto& thread : threads) thread.join();
  std::promise<int> all;
  loop.post([&] { all.set_value(count); });
  EXPECT_EQ(all.get_future().get(), 4000);
}

/// Posts again when it is destroyed, as objects that clean up after themselves do.
struct PostsWhenDestroyed {
  ThreadLoop& loop;
  std::atomic<int>& destroyed;
  ~PostsWhenDestroyed() {
    ++destroyed;
    loop.post([] { FAIL() << "a stopped loop ran a task"; });
  }
};

TEST(ThreadLoop, DestroysWhatIsPendingAndRunsNoneOfIt) {
  std::atomic<int> destroyed = 0;
  std::atomic<bool> worked = false, began = false;
  {
    ThreadLoop loop;
    auto token = std::make_shared<PostsWhenDestroyed>(loop, destroyed);
    loop.post([&loop, &worked, &began] {
      loop.offload(
          Lane::kComputing,
          [&] {
            began = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            worked = true;
          },
          [] { FAIL() << "done after stop"; });
    });
    loop.post([&loop, &began, token] {
      // Its thread is at the first errand now; the second one must not begin.
      while (!began) std::this_thread::yield();
      loop.offload(
          Lane::kComputing, [token] { FAIL() << "began after stop"; }, [token] {});
      loop.post([token] { FAIL() << "ran after stop"; });
      loop.after(0, [token] { FAIL() << "fired after stop"; });
      loop.stop();
    });
    token.reset();
    loop.run();
    EXPECT_TRUE(worked);  // run() waits for work that had begun
    EXPECT_EQ(destroyed, 0);
    loop.post([] { FAIL() << "a stopped loop ran a task"; });
  }
  EXPECT_EQ(destroyed, 1);
}

TEST(ThreadLoop, MayBeStoppedBeforeItRunsOrNeverRun) {
  ThreadLoop never;
  never.post([] { FAIL(); });
  ThreadLoop stopped;
  stopped.post([] { FAIL(); });
  stopped.stop();
  stopped.start();
  stopped.join();
}

TEST(ThreadLoop, TellsOfTurnsThatTakeLong) {
  std::vector<std::int64_t> told;
  ThreadLoop loop({1'000'000, [&](std::int64_t cpu_ns) { told.push_back(cpu_ns); }});
  const auto burn = [] {
    const std::int64_t end_ns = thread_cpu_ns() + 3'000'000;
    while (thread_cpu_ns() < end_ns) {
    }
  };
  loop.post([] {});
  loop.post(burn);
  loop.post([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  loop.after(1, burn);
  loop.after(20, [&] { loop.stop(); });
  loop.run();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_GE(told[0], 3'000'000);
}

}  // namespace
}  // namespace commensal::core
