// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace commensal::kernels {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      pool.run(count, [&](std::int64_t i) { calls[static_cast<std::size_t>(i)]++; });
      for (const auto& n : calls) EXPECT_EQ(n, 1);
    }
  }
}

TEST(ThreadPool, SeesTheResultsOfManyShortRuns) {
  ThreadPool pool(3);
  std::vector<int> values(5);
  for (int round = 0; round < 2000; ++round) {
    pool.run(5,
             [&](std::int64_t i) { values[static_cast<std::size_t>(i)] += static_cast<int>(i); });
  }
  EXPECT_EQ(values, (std::vector<int>{0, 2000, 4000, 6000, 8000}));
}

TEST(ThreadPool, EndsWhileItsThreadsAreStillWaking) {
  for (int round = 0; round < 20000; ++round) {
    ThreadPool pool(2 + round % 3);
    if (round % 2 == 0) pool.run(2, [](std::int64_t) {});
  }
}

TEST(ThreadPool, ABurstChangesNothingButTheWait) {
  ThreadPool pool(4);
  std::atomic<std::int64_t> sum = 0;
  for (int round = 0; round < 200; ++round) {
    const ThreadPool::Burst outer(pool), inner(pool);
    for (int job = 0; job < 20; ++job) pool.run(job, [&](std::int64_t i) { sum += i; });
  }
  EXPECT_EQ(sum, 200 * 1140);  // sum over jobs of job (job - 1) / 2
}

TEST(ThreadPool, TasksOfOneRunShareTheThreads) {
  ThreadPool pool(2);
  std::mutex mutex;
  std::condition_variable both_here;
  std::set<std::thread::id> seen;
  pool.run(2, [&](std::int64_t) {  // each waits until the other thread has come
    std::unique_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
    both_here.notify_all();
    both_here.wait(lock, [&] { return seen.size() == 2; });
  });
  EXPECT_EQ(seen.size(), 2U);
}

}  // namespace
}  // namespace commensal::kernels
