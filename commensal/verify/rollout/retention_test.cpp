// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/verify/rollout/retention.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::rollout {
namespace {

class Retained : public testing::RolloutTest {
 protected:
  /// The n-th rollout, with so many steps.
  core::Digest keep(core::Store& store, std::uint64_t n, std::uint64_t steps) {
    JobRecord record = record_;
    record.job.face_value = protocol::Amount(n);
    const core::Digest id = protocol::job_id(record.job);
    JobRows rows(store, id);
    EXPECT_TRUE(rows.put(record));
    for (std::uint64_t step = 1; step <= steps; ++step) {
      StepRecord record;
      record.step = receipt::Step(record_.job, step);
      EXPECT_TRUE(rows.put(record));
    }
    return id;
  }
  static Retention all_but(std::set<core::Digest> needed, std::size_t most) {
    return {most, [needed](const core::Digest& rollout) { return !needed.contains(rollout); }, {}};
  }
};

TEST_F(Retained, TheOldestGoesThatMayWithAllItsRows) {
  store::MemoryStore store;
  std::vector<core::Digest> ids;
  for (std::uint64_t n = 0; n < 4; ++n) ids.push_back(keep(store, n, 5'000));
  EXPECT_EQ(*rollouts_by_age(store), ids);
  EXPECT_TRUE(make_room(store, 1, all_but({}, 5))->empty());
  const auto gone = make_room(store, 1, all_but({ids[0]}, 4));
  ASSERT_TRUE(gone);
  EXPECT_EQ(*gone, (std::vector{ids[1]}));
  EXPECT_FALSE(*JobRows(store, ids[1]).is_there());
  EXPECT_EQ(*JobRows(store, ids[1]).last(), 0u);
  EXPECT_FALSE(JobRows(store, ids[1]).step(1));
  EXPECT_FALSE(JobRows(store, ids[1]).step(5'000));
  EXPECT_TRUE(JobRows(store, ids[0]).step(5'000));
  ids.erase(ids.begin() + 1);
  ids.push_back(keep(store, 9, 1));
  EXPECT_EQ(*rollouts_by_age(store), ids);
}

TEST_F(Retained, WhatIsNeededStays) {
  store::MemoryStore store;
  const core::Digest a = keep(store, 0, 1), b = keep(store, 1, 1);
  const auto refused = make_room(store, 1, all_but({a, b}, 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_EQ(rollouts_by_age(store)->size(), 2u);
}

TEST_F(Retained, OneThatACrashCutShortGoesNextTime) {
  for (std::uint64_t write = 0; write < 3; ++write) {
    store::MemoryStore disk;
    const core::Digest old = keep(disk, 0, 5'000);
    store::testing::FaultStore fault(disk, write, store::testing::Fault::kCrashBefore);
    EXPECT_FALSE(make_room(fault, 1, all_but({}, 1)));
    EXPECT_EQ(*make_room(disk, 1, all_but({}, 1)), (std::vector{old}));
    EXPECT_FALSE(JobRows(disk, old).step(5'000));
    EXPECT_TRUE(rollouts_by_age(disk)->empty());
  }
}

}  // namespace
}  // namespace commensal::rollout
