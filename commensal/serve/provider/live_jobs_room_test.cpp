// SPDX-License-Identifier: Apache-2.0
// What a provider keeps of rollouts on its disk.
#include <gmock/gmock.h>

#include <commensal/serve/provider/testing/live_jobs_fixture.hpp>

namespace commensal::provider {
namespace {

using ::testing::HasSubstr;
using testing::LiveJobsTest;

TEST_F(LiveJobsTest, OfEachRolloutTheLastStateIsKept) {
  start_both();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(step_in_time()) << refused();
  rollout::JobRows rows(provider_store_, id());
  EXPECT_TRUE(rows.step(4));
  for (const std::uint64_t step : {1, 2, 3}) EXPECT_FALSE(rows.step(step)) << step;
  start_process();
  offer();  // and it goes on from there
  EXPECT_TRUE(sign()) << refused();
}

// The fault: rollouts were counted, however large their states.
TEST_F(LiveJobsTest, AStateForWhichThereIsNoRoomIsNotComputed) {
  start_both();
  ASSERT_TRUE(step_in_time()) << refused();
  kept_bytes_max_ = rollout::JobRows(provider_store_, id()).bytes()->all;
  start_process();
  offer();
  EXPECT_THAT(refused(), HasSubstr("bytes of rollouts have to go, and 0 of those"));
}

}  // namespace
}  // namespace commensal::provider
