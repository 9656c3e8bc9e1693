// SPDX-License-Identifier: Apache-2.0
// Which tasks are computed together, and how long they wait for that.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/provider/tasks.hpp>

namespace commensal::provider {
namespace {

class WaitingTasksOf : public ::testing::Test {
 protected:
  /// Of so many rows of so many floats.
  TaskPtr task(std::int64_t rows, std::int64_t width = 3, std::uint8_t client = 0) {
    rollout::JobRecord record;
    const std::vector<float> values(static_cast<std::size_t>(rows * width));
    const auto shape = *tensor::Shape::of(std::vector<std::int64_t>{rows, width});
    record.inputs = {{"x", tensor::Tensor::of<float>(shape, std::span(values))}};
    record.job.client.bytes[0] = client;
    const auto made = std::make_shared<Task>();
    made->job = std::make_shared<rollout::ProviderJob>(
        rollout::ProviderJob::Dependencies{rng_, key_}, std::move(record));
    made->batching = batching_;
    return made;
  }
  /// Of those that are taken at once, in the order of the queue.
  std::vector<std::int64_t> take() {
    std::vector<std::int64_t> rows;
    for (const TaskPtr& one : waiting_.take()) rows.push_back(one->rows());
    return rows;
  }
  using Rows = std::vector<std::int64_t>;

  core::CounterRng rng_{1};
  crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  WaitingTasks waiting_{{8}};
  std::optional<rpc::Batching> batching_;
};

TEST_F(WaitingTasksOf, WhatWaitsIsJoinedWhateverItsRows) {
  for (const std::int64_t rows : {1, 5, 2}) EXPECT_TRUE(waiting_.add(task(rows)));
  EXPECT_TRUE(waiting_.add(task(1, 4)));  // of another shape
  EXPECT_TRUE(waiting_.add(task(7)));
  EXPECT_EQ(take(), (Rows{1, 5, 2, 7}));
  EXPECT_EQ(take(), Rows{1});
  EXPECT_EQ(take(), Rows{});
}

TEST_F(WaitingTasksOf, NoMoreRowsGoTogetherThanMay) {
  batching_ = rpc::Batching{0, 6, {}};
  for (const std::int64_t rows : {2, 2, 3, 1, 9}) EXPECT_TRUE(waiting_.add(task(rows)));
  EXPECT_EQ(take(), (Rows{2, 2}));
  EXPECT_EQ(take(), (Rows{3, 1}));
  EXPECT_EQ(take(), Rows{9}) << "alone it is what its consumer asked for";
}

TEST_F(WaitingTasksOf, TheyWaitUntilThereAreAsManyAsMayBe) {
  batching_ = rpc::Batching{1'000, 4, {}};
  EXPECT_FALSE(waiting_.add(task(1)));
  EXPECT_FALSE(waiting_.add(task(2)));
  EXPECT_EQ(waiting_.held(), 2u);
  EXPECT_EQ(take(), Rows{});
  EXPECT_TRUE(waiting_.add(task(1)));
  EXPECT_EQ(waiting_.held(), 0u);
  EXPECT_EQ(take(), (Rows{1, 2, 1}));
}

TEST_F(WaitingTasksOf, APreferredNumberOfRowsWaitsForNoMore) {
  batching_ = rpc::Batching{1'000, 64, {2, 4}};
  EXPECT_FALSE(waiting_.add(task(1)));
  EXPECT_TRUE(waiting_.add(task(1)));
  EXPECT_FALSE(waiting_.add(task(1)));  // 3
  EXPECT_TRUE(waiting_.add(task(1)));
  EXPECT_FALSE(waiting_.add(task(1)));
  EXPECT_EQ(take(), (Rows{1, 1, 1, 1})) << "the largest that can be had";
  EXPECT_EQ(take(), Rows{});
}

TEST_F(WaitingTasksOf, WhoIsReleasedTakesThoseWithItThatStillWait) {
  batching_ = rpc::Batching{1'000, 64, {}};
  const TaskPtr first = task(1), second = task(2);
  EXPECT_FALSE(waiting_.add(first));
  EXPECT_FALSE(waiting_.add(second));
  EXPECT_TRUE(waiting_.release(first));
  EXPECT_EQ(take(), (Rows{1, 2}));
  EXPECT_FALSE(waiting_.release(second));
}

TEST_F(WaitingTasksOf, WhoWaitsHoldsUpNoOtherModelOrClient) {
  batching_ = rpc::Batching{1'000, 64, {}};
  EXPECT_FALSE(waiting_.add(task(1)));
  batching_.reset();
  const TaskPtr other = task(2);
  other->model[0] = 1;
  EXPECT_TRUE(waiting_.add(other));
  EXPECT_EQ(take(), Rows{2});
  EXPECT_EQ(waiting_.held(), 1u);
}

TEST_F(WaitingTasksOf, WhatIsWithdrawnIsWaitedForNoLonger) {
  batching_ = rpc::Batching{1'000, 4, {}};
  const TaskPtr gone = task(3);
  EXPECT_FALSE(waiting_.add(gone));
  gone->withdrawal.request_stop();
  EXPECT_EQ(waiting_.take_withdrawn(), std::vector{gone});
  EXPECT_FALSE(waiting_.add(task(1)));
}

// Who has no room for more than one has nobody wait.
TEST_F(WaitingTasksOf, OneAtATimeWaitsForNobody) {
  WaitingTasks waiting({1});
  batching_ = rpc::Batching{1'000, 4, {}};
  EXPECT_TRUE(waiting.add(task(1)));
  EXPECT_EQ(waiting.take().size(), 1u);
}

}  // namespace
}  // namespace commensal::provider
