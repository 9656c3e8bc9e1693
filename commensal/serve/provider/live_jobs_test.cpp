// SPDX-License-Identifier: Apache-2.0
// Jobs that are kept, between processes: refusals, and work that a late signature makes vain.
#include <gmock/gmock.h>

#include <commensal/serve/provider/testing/live_jobs_fixture.hpp>

namespace commensal::provider {
namespace {

using ::testing::HasSubstr;
using testing::LiveJobsTest;

TEST_F(LiveJobsTest, EachStepEarnsATicket) {
  start_both();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(step_in_time()) << refused();
  EXPECT_EQ(tickets(), 4u);
  EXPECT_EQ(late().late, 0u);
}

TEST_F(LiveJobsTest, TheOldestThatAreOverMakeRoomForNewOnes) {
  kept_max_ = 2;
  start_process();
  std::vector<core::Digest> ids;
  for (std::uint64_t n = 0; n < 6; ++n) {
    SCOPED_TRACE(n);
    make_single(n);
    ids.push_back(id());
    start_both();
    ASSERT_TRUE(step_in_time()) << refused();
    if (n >= 2) {
      EXPECT_FALSE(*rollout::JobRows(provider_store_, ids[n - 2]).is_there());
    }
    EXPECT_TRUE(*rollout::JobRows(provider_store_, ids[n]).is_there());
    close(client_->receipt(1)->round);
    EXPECT_EQ(tickets(), 0u);
    client_store_.clear();
  }
  EXPECT_EQ(rollout::rollouts_by_age(provider_store_)->size(), 2u);
  EXPECT_EQ(rollout::JobRows(provider_store_, ids[0]).step(1).error().code,
            core::ErrorCode::kNotFound);
}

TEST_F(LiveJobsTest, NoneGoesWhoseTicketsAreUndecidedOrThatIsAtHand) {
  kept_max_ = 1;
  start_process();
  make_single(0);
  const core::Digest first = id();
  start_both();
  ASSERT_TRUE(step_in_time()) << refused();
  make_single(1);
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("1 rollouts are kept, at most 1, and none of them is over"));
  EXPECT_TRUE(*rollout::JobRows(provider_store_, first).is_there());
  close(client_->receipt(1)->round);
  offer_anew();
  ASSERT_TRUE(committed()) << refused();
  close(committed()->round);  // never signed: its ticket is void
  make_single(2);             // the one before is at hand, and not finished
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("none of them is over"));
  start_process();  // it is not at hand, and none has ended
  offer_anew();
  EXPECT_TRUE(committed()) << refused();
}

TEST_F(LiveJobsTest, WhatDoesNotFitIsRefusedByName) {
  ask({1, {}});
  EXPECT_THAT(refused(), HasSubstr("the job is not at hand: offer it"));
  const auto said = listener_.said.size();
  process_->jobs->handle(rpc::Countersign{{{id(), 1, {}}}});
  EXPECT_EQ(listener_.said.size(), said);  // of a job that was withdrawn, say
  const protocol::Job job = record_.job;
  record_.job.provider = client_key_.address();
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("names another provider"));
  record_.job = job;
  record_.job.beacons = {core::Digest{9}};
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("not the beacon that we agreed on"));
  record_.job = job;
  record_.input_salt[0] ^= 1;
  offer_anew();
  EXPECT_THAT(refused(), HasSubstr("are not those that the job was made with"));
  record_.input_salt[0] ^= 1;
  start_client();
  const receipt::Begin begin = *client_->begin();
  offer({id(), 2, begin.value});
  EXPECT_THAT(refused(), HasSubstr("step 2 is begun where step 0 of 48"));
  offer({id(), 1, core::Digest{3}});
  EXPECT_THAT(refused(), HasSubstr("does not lead to the one before"));
  offer();
  ASSERT_TRUE(committed()) << refused();
  ask({id(), 2, begin.value});
  EXPECT_THAT(refused(), HasSubstr("step 2 is begun where step 1 of 48"));
  process_->jobs->handle(rpc::Countersign{{{id(), 2, {}}}});
  EXPECT_THAT(refused(), HasSubstr("step 2 is countersigned where step 1"));
  // Whoever was refused begins again, and nothing is lost.
  offer();
  ASSERT_TRUE(step_in_time()) << refused();
}

TEST_F(LiveJobsTest, ARepeatedWordHasTheSameAnswer) {
  start_both();
  const receipt::Begin begin = *client_->begin();
  ask(begin);
  const auto first = committed();
  ask(begin);
  const auto again = committed();
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->commitment, again->commitment);
  EXPECT_EQ(first->round, again->round);
  start_process();
  offer();
  ask(begin);
  ASSERT_TRUE(committed());
  EXPECT_EQ(committed()->commitment, first->commitment);
  EXPECT_TRUE(sign());
  EXPECT_EQ(tickets(), 1u);
}

TEST_F(LiveJobsTest, AJobThatIsAtWorkIsLeftAlone) {
  start_client();
  const receipt::Begin begin = *client_->begin();
  process_->jobs->handle(offer_of(begin));
  process_->jobs->handle(begin);  // the same: it has one answer
  EXPECT_TRUE(listener_.said.empty());
  process_->jobs->handle(receipt::Begin{id(), 2, {}});
  EXPECT_THAT(refused(), HasSubstr("the job is at work"));
  listener_.said.clear();
  loop_.run_until_idle();
  EXPECT_TRUE(committed());
  const auto is_commit = [](const auto& word) { return std::holds_alternative<rpc::Commit>(word); };
  EXPECT_EQ(std::ranges::count_if(listener_.said, is_commit), 1);
}

TEST_F(LiveJobsTest, ASignatureIsAnsweredOutOfTheStoreWithoutTheModel) {
  start_both();
  const auto signature = client_->on_commit(*committed());
  ASSERT_TRUE(signature);
  start_process();
  EXPECT_TRUE(show(*signature)) << refused();
  EXPECT_EQ(tickets(), 1u);
  ask(*client_->begin());  // who has not offered it on this stream
  EXPECT_THAT(refused(), HasSubstr("the job is not at hand: offer it"));
  offer();
  EXPECT_TRUE(sign()) << refused();
}

TEST_F(LiveJobsTest, WhatWasAskedForOnAnEarlierStreamIsDoneAndNotSaid) {
  start_client();
  process_->jobs->handle(offer_of(*client_->begin()));
  process_->jobs->on_connect();
  loop_.run_until_idle();
  EXPECT_FALSE(committed());
  EXPECT_EQ(*rollout::JobRows(provider_store_, id()).last(), 1u);
  offer();
  EXPECT_TRUE(sign()) << refused();
}

TEST_F(LiveJobsTest, OnlySoManyStepsAreComputedForNothing) {
  start_both();
  for (std::uint64_t i = 1; i <= limits::kLateStepsMax + 1; ++i) {  // one rollout is at hand
    ASSERT_TRUE(late_step()) << refused();
    EXPECT_EQ(late().late, i);
  }
  EXPECT_EQ(tickets(), 0u);
  EXPECT_FALSE(late_step());
  EXPECT_THAT(refused(), HasSubstr("step 4: signed too late for its ticket, as 3 steps before it"));
  EXPECT_EQ(listener_.last<rpc::Refuse>()->reason.code, core::ErrorCode::kFailedPrecondition);
  // Nor is it to be had by asking again, or by a new offer.
  ask(*client_->begin());
  EXPECT_THAT(refused(), HasSubstr("signed too late"));
  offer();
  EXPECT_THAT(refused(), HasSubstr("signed too late"));
}

TEST_F(LiveJobsTest, ASignatureThatIsShownAfterTheDrawCountsAsWell) {
  start_both();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(step_shown_late()) << refused();
  EXPECT_EQ(late().late, 3u);
  EXPECT_FALSE(step_shown_late());
  EXPECT_THAT(refused(), HasSubstr("step 4: signed too late"));
  // The refusal put the rollout aside; taking it up again changes nothing.
  EXPECT_FALSE(show(*client_->pending()));
  EXPECT_THAT(refused(), HasSubstr("step 4: signed too late"));
  EXPECT_EQ(late().late, 3u);
}

TEST_F(LiveJobsTest, ACrashOfTheProviderForgetsNothingAndIsNotHeldAgainstTheClient) {
  start_both();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(late_step()) << refused();
  // This one is begun, and late because we were gone.
  const receipt::Begin begin = *client_->begin();
  ask(begin);
  const auto word = committed();
  ASSERT_TRUE(word);
  closed_ = word->round;
  start_process();
  offer();
  ask(begin);
  ASSERT_TRUE(sign()) << refused();
  EXPECT_EQ(late().late, 3u);
  EXPECT_FALSE(late_step());
  EXPECT_THAT(refused(), HasSubstr("step 5: signed too late"));
}

TEST_F(LiveJobsTest, StepsWithTicketsMakeUpForLateOnes) {
  start_both();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(late_step()) << refused();
  for (std::uint64_t i = 0; i < limits::kStepsPerLate; ++i) {
    ASSERT_EQ(late().late, 3u);
    ASSERT_TRUE(step_in_time()) << refused();
  }
  EXPECT_EQ(late().late, 2u);
  ASSERT_TRUE(late_step()) << refused();
  EXPECT_FALSE(late_step());
  EXPECT_THAT(refused(), HasSubstr("signed too late"));
}

}  // namespace
}  // namespace commensal::provider
