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
    return {.kept_max = most,
            .may_go = [needed](const core::Digest& rollout) { return !needed.contains(rollout); }};
  }
  /// Those that go.
  static std::vector<core::Digest> gone(core::Store& store, std::size_t more, Retention retention) {
    std::vector<core::Digest> gone;
    retention.gone = [&gone](const core::Digest& rollout) { gone.push_back(rollout); };
    const auto made = make_room(store, more, retention);
    EXPECT_TRUE(made) << made.error().message;
    return gone;
  }
};

TEST_F(Retained, TheOldestGoesThatMayWithAllItsRows) {
  store::MemoryStore store;
  std::vector<core::Digest> ids;
  for (std::uint64_t n = 0; n < 4; ++n) ids.push_back(keep(store, n, 5'000));
  EXPECT_EQ(*rollouts_by_age(store), ids);
  EXPECT_TRUE(gone(store, 1, all_but({}, 5)).empty());
  EXPECT_EQ(gone(store, 1, all_but({ids[0]}, 4)), (std::vector{ids[1]}));
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

// The fault: rollouts were counted, not what their states take.
TEST_F(Retained, TheOldestGoUntilSoManyBytesAreFree) {
  store::MemoryStore store;
  std::vector<core::Digest> ids;
  for (std::uint64_t n = 0; n < 4; ++n) ids.push_back(keep(store, n, 3));
  const std::uint64_t each = JobRows(store, ids[0]).bytes()->all;
  EXPECT_GT(each, 3 * JobRows(store, ids[0]).bytes()->last);
  Retention retention = all_but({ids[0]}, 4);
  retention.bytes_less = each + 1;
  EXPECT_EQ(gone(store, 0, retention), (std::vector{ids[1], ids[2]}));
  retention.bytes_less = 2 * each;
  const auto refused = make_room(store, 0, retention);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, fmt::format("{} bytes of rollouts have to go, and {} of those "
                                                 "that are over may",
                                                 2 * each, each));
  EXPECT_EQ(*rollouts_by_age(store), (std::vector{ids[0], ids[3]})) << "in vain none goes";
}

TEST_F(Retained, OfAStepThatIsWrittenAgainTheLastCounts) {
  store::MemoryStore store;
  const core::Digest id = keep(store, 0, 2);
  JobRows rows(store, id);
  const JobRows::Bytes before = *rows.bytes();
  StepRecord again;
  again.step = receipt::Step(record_.job, 2);
  const std::vector<float> state(1'000);
  again.outputs = {{"state", tensor::Tensor::of<float>({1'000}, state)}};
  ASSERT_TRUE(rows.put(again));
  const JobRows::Bytes after = *rows.bytes();
  EXPECT_GT(after.last, before.last + 4'000);
  EXPECT_EQ(after.all - after.last, before.all - before.last);
  ASSERT_TRUE(rows.drop_before_last());
  EXPECT_EQ(rows.step(1).error().code, core::ErrorCode::kNotFound);
  EXPECT_TRUE(rows.step(2));
  EXPECT_EQ(rows.bytes()->all, after.all - before.last);
  EXPECT_EQ(*rows.last(), 2u);
}

// The fault: the oldest went, whoever's: who kept much pushed out what everybody else had.
TEST_F(Retained, WhoKeepsMostGivesWayFirst) {
  store::MemoryStore store;
  KeptBytes owners;
  std::vector<core::Digest> ids;
  const auto add = [&](const std::string& owner, std::uint64_t steps) {
    ids.push_back(keep(store, ids.size(), steps));
    owners.note(ids.back(), owner, JobRows(store, ids.back()).bytes()->all);
  };
  add("alice", 40), add("bob", 1), add("bob", 1), add("bob", 1), add("mallory", 40);
  add("mallory", 40);
  Retention by_bytes = all_but({}, 9);
  by_bytes.owners = &owners;
  by_bytes.bytes_less = 1;
  EXPECT_EQ(gone(store, 0, by_bytes), (std::vector{ids[4]}));
  owners.forget(ids[4]);
  Retention by_count = all_but({ids[1]}, 5);
  by_count.owners = &owners;
  EXPECT_EQ(gone(store, 1, by_count), (std::vector{ids[2]}));
  owners.forget(ids[2]);
  by_bytes = all_but({ids[5]}, 9);
  by_bytes.owners = &owners;
  by_bytes.bytes_less = owners.of("alice") + 1;
  EXPECT_EQ(gone(store, 0, by_bytes), (std::vector{ids[0], ids[1]})) << "what it needs stays";
  EXPECT_EQ(*rollouts_by_age(store), (std::vector{ids[3], ids[5]}));
}

// The fault: a step that came after its rollout had gone was written, and nothing listed it.
TEST_F(Retained, AStepWhoseRolloutHasGoneIsNotWritten) {
  store::MemoryStore store;
  const core::Digest id = keep(store, 0, 2);
  const std::size_t empty = store::MemoryStore().bytes();
  ASSERT_TRUE(make_room(store, 1, all_but({}, 1)));
  StepRecord late;
  late.step = receipt::Step(record_.job, 3);
  EXPECT_EQ(JobRows(store, id).put(late).error().code, core::ErrorCode::kNotFound);
  EXPECT_EQ(store.bytes(), empty);
}

TEST_F(Retained, StepsWithoutTheirRolloutAreSwept) {
  store::MemoryStore store;
  const core::Digest kept = keep(store, 0, 2);
  const std::size_t before = store.bytes();
  const core::Digest stray = keep(store, 1, 5'000);
  const core::Bytes key(stray.begin(), stray.end());
  const core::Bytes second = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd};
  ASSERT_TRUE(store.apply({{"rollout.job", key, std::nullopt},
                           {"rollout.number", key, std::nullopt},
                           {"rollout.age", second, std::nullopt}}));
  ASSERT_EQ(*rollouts_by_age(store), (std::vector{kept}));
  ASSERT_TRUE(drop_strays(store));
  EXPECT_EQ(store.bytes(), before);
  EXPECT_TRUE(JobRows(store, kept).step(2));
}

TEST(KeptBytesOfRollouts, AreCountedByOwner) {
  KeptBytes kept;
  const core::Digest a{1}, b{2};
  kept.note(a, "alice", 10);
  kept.note(b, "bob", 5);
  kept.note(a, "alice", 30);
  EXPECT_EQ(kept.of("alice"), 30u);
  EXPECT_EQ(kept.all(), 35u);
  EXPECT_EQ(kept.owner_of(a), "alice");
  EXPECT_EQ(kept.owner_of(core::Digest{3}), "");
  kept.forget(a);
  kept.forget(a);
  EXPECT_EQ(kept.of("alice"), 0u);
  EXPECT_EQ(kept.all(), 5u);
  EXPECT_EQ(excess(5, 3, 8), 0u);
  EXPECT_EQ(excess(5, 4, 8), 1u);
  EXPECT_EQ(excess(5, 9, 8), 5u);
}

TEST_F(Retained, OneThatACrashCutShortGoesNextTime) {
  for (std::uint64_t write = 0; write < 3; ++write) {
    store::MemoryStore disk;
    const core::Digest old = keep(disk, 0, 5'000);
    store::testing::FaultStore fault(disk, write, store::testing::Fault::kCrashBefore);
    EXPECT_FALSE(make_room(fault, 1, all_but({}, 1)));
    EXPECT_EQ(gone(disk, 1, all_but({}, 1)), (std::vector{old}));
    EXPECT_FALSE(JobRows(disk, old).step(5'000));
    EXPECT_TRUE(rollouts_by_age(disk)->empty());
  }
}

}  // namespace
}  // namespace commensal::rollout
