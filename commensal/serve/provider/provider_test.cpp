// SPDX-License-Identifier: Apache-2.0
// When answers are signed together, and when they do not wait.
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/provider/testing/provider_fixture.hpp>

namespace commensal::provider::testing {
namespace {

TEST_F(ProviderTest, OneTaskAtATimeNeverWaits) {
  answer_batches();
  for (int i = 0; i < 3; ++i) {
    ask(1);
    loop_.work(1);
  }
  EXPECT_EQ(listener_.batches, (Sizes{1, 1, 1}));
  EXPECT_EQ(listener_.refused, 0);
}

// What comes while a batch is on its way to be signed goes with the next, or after a moment.
TEST_F(ProviderTest, AnswersGatherWhileOthersAreToBeSigned) {
  ask(1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{1});
  ask(1);
  loop_.work(1);
  ask(2);
  loop_.work(2);
  loop_.rest_ms(limits::kGatherMs - 1);
  EXPECT_EQ(listener_.batches, Sizes{1});
  loop_.rest_ms(1);
  EXPECT_EQ(listener_.batches, (Sizes{1, 3}));
}

TEST_F(ProviderTest, AnswersWaitWhileMoreTasksAreAhead) {
  answer_batches();
  ask(16);
  loop_.work(7);
  EXPECT_EQ(listener_.batches, Sizes{});
  loop_.work(1);  // as many answers as tasks
  EXPECT_EQ(listener_.batches, Sizes{8});
  ask(8);
  loop_.work(8);
  EXPECT_EQ(listener_.batches, (Sizes{8, 8}));
  loop_.work(8);
  EXPECT_EQ(listener_.batches, (Sizes{8, 8, 4, 2, 1, 1}));
}

TEST_F(ProviderTest, NoAnswerWaitsLongerThanItMay) {
  answer_batches();
  ask(16);
  loop_.work(1);
  loop_.rest_ms(60);
  loop_.work(2);
  loop_.rest_ms(39);
  EXPECT_EQ(listener_.batches, Sizes{});
  loop_.rest_ms(1);
  EXPECT_EQ(listener_.batches, Sizes{3});
  // A timer that was set for a batch that is gone does nothing.
  loop_.work(7);
  EXPECT_EQ(listener_.batches, (Sizes{3, 7}));
  loop_.work(1);
  loop_.rest_ms(99);
  EXPECT_EQ(listener_.batches, (Sizes{3, 7}));
  loop_.rest_ms(1);
  EXPECT_EQ(listener_.batches, (Sizes{3, 7, 1}));
}

class TinyProviderTest : public ProviderTest {
 protected:
  TinyProviderTest() : ProviderTest({}, 14) {}  // one float goes in and out, and as much beside
};

TEST_F(TinyProviderTest, WhatIsTooLargeToBeKeptIsNotSigned) {
  ask(1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{});
  EXPECT_EQ(listener_.refused, 1);
}

// The fault: whoever pushed a model that declares its outputs wrongly had every honest provider
// avoided, which had computed what the model says.
TEST_F(ProviderTest, WhatTheModelDoesNotDeclareIsNotSigned) {
  engines_.lies = true;
  ask(1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{});
  EXPECT_EQ(listener_.refused, 1);
}

class BatchingProviderTest : public ProviderTest {
 protected:
  BatchingProviderTest() : ProviderTest({4}) {}
};

TEST_F(BatchingProviderTest, TasksThatWaitForOneModelAreComputedTogether) {
  answer_batches();
  ask(6, 1);
  ask(1, 2);
  ask(1, 1);
  loop_.work(1);
  ask(1, 1);
  loop_.work(8);
  // The first, and with it the next three; those that are left of its model; the other model's.
  EXPECT_EQ(engines_.asked_at_once, (Sizes{4, 4, 1}));
  std::size_t answers = 0;
  for (const std::size_t batch : listener_.batches) answers += batch;
  EXPECT_EQ(answers, 9U);
  EXPECT_EQ(listener_.refused, 0);
}

// The fault: the first of a frame was taken, and run, while the others were being read.
TEST_F(BatchingProviderTest, WhatComesInOneTurnOfTheLoopIsThereBeforeTheFirstIsTaken) {
  loop_.post([this] {
    ask_now(3, 1);
    EXPECT_EQ(loop_.left(), 0u);
  });
  loop_.settle();
  loop_.work(3);
  EXPECT_EQ(engines_.asked_at_once, Sizes{3});
}

TEST_F(BatchingProviderTest, AJobWaitsForOthersAsLongAsItMay) {
  answer_batches();
  batching_ = rpc::Batching{2'500, 8, {}};
  ask(2, 1);
  loop_.rest_ms(2);
  EXPECT_EQ(loop_.left(), 0u);
  loop_.rest_ms(1);
  loop_.work(loop_.left());
  ask(4, 1);  // as many as may be
  EXPECT_EQ(loop_.left(), 1u);
  loop_.work(1);
  loop_.rest_ms(3);
  EXPECT_EQ(loop_.left(), 0u);
  EXPECT_EQ(engines_.asked_at_once, (Sizes{2, 4}));
  EXPECT_EQ(provider_->status().runs.runs, 2u);
  EXPECT_EQ(provider_->status().runs.tasks, 6u);
}

// The fault would be: who has been computed waits for its signature until those behind it are.
TEST_F(BatchingProviderTest, NoAnswerWaitsForThoseThatWaitForOthers) {
  answer_batches();
  ask(1, 1);
  batching_ = rpc::Batching{50'000, 8, {}};
  ask(2, 2);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{1});
}

// The fault: of 16 that asked again as soon as they were answered 3 were computed, then 8, then 5.
TEST_F(BatchingProviderTest, AnswersOfALongRunWaitForNoOther) {
  answer_batches();
  engines_.in_run = [this] { clock_.advance_ms(40); };  // 10 of each of its 4
  ask(9, 1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{4});
  loop_.work(1);
  EXPECT_EQ(listener_.batches, (Sizes{4, 4}));
}

/// Of the model whose digest begins with 1, two at a time.
class TunedProviderTest : public ProviderTest {
 protected:
  TunedProviderTest() : ProviderTest({4, {{core::Digest{1}, 2}}}) {}
};

TEST_F(TunedProviderTest, AModelMayHaveANumberOfItsOwn) {
  ask(3, 1);
  ask(6, 2);
  loop_.work(9);
  Sizes sizes = engines_.asked_at_once;
  std::ranges::sort(sizes);
  EXPECT_EQ(sizes, (Sizes{1, 2, 2, 4}));
}

TEST_F(BatchingProviderTest, WhoAsksAloneIsComputedAlone) {
  ask(1);
  loop_.work(1);
  ask(1);
  loop_.work(1);
  EXPECT_EQ(engines_.asked_at_once, (Sizes{1, 1}));
}

TEST_F(ProviderTest, OneAtATimeUnlessToldOtherwise) {
  ask(3);
  loop_.work(3);
  EXPECT_EQ(engines_.asked_at_once, (Sizes{1, 1, 1}));
}

// However much one has sent, somebody else waits for one step of it.
TEST_F(ProviderTest, ClientsTakeTurns) {
  ask(5, 0, 1);
  ask(2, 0, 2);
  ask(1, 0, 3);
  loop_.work(8);
  EXPECT_EQ(engines_.asked, (std::vector<float>{1, 6, 8, 2, 7, 3, 4, 5}));
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, LoadingAModelIsCancelledToo) {
  ask(1, 1);
  loop_.work(1);
  EXPECT_FALSE(engines_.was_cancelled);
  closing_.request_stop();
  ask(1, 2);
  loop_.work(1);
  EXPECT_TRUE(engines_.was_cancelled);
}

TEST_F(ProviderTest, AnOfferThatIsRepeatedIsComputedOnce) {
  ask(1);
  --asked_;
  ask(1);  // in the queue
  loop_.work(1);
  const core::Digest commitment = listener_.commitment;
  --asked_;
  ask(1);  // waiting for its signature: the same again
  EXPECT_EQ(provider_->status().queued, 0u);
  EXPECT_EQ(engines_.asked_at_once, Sizes{1});
  EXPECT_EQ(listener_.batches, (Sizes{1, 1}));
  EXPECT_EQ(listener_.commitment, commitment);
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, AWithdrawnCommitmentWaitsForNoSignature) {
  ask(1);
  loop_.work(1);
  provider_->on_message(rpc::Withdraw{{listener_.committed}});
  --asked_;
  ask(1);  // nothing is known of it any more
  loop_.work(1);
  EXPECT_EQ(listener_.batches, (Sizes{1, 1}));
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, ASignatureForAnUnknownJobIsPassedOver) {
  provider_->on_message(rpc::Countersign{{{core::Digest{1}, 1, {}}}});
  loop_.settle();
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, WhatWaitsForASignatureCountsAsQueued) {
  constexpr auto kMost = static_cast<std::size_t>(limits::kProviderQueueMax);
  ask(kMost / 2);
  loop_.work(kMost / 2);
  ask(kMost / 2);
  EXPECT_EQ(listener_.refused, 0);
  ask(1);
  EXPECT_EQ(listener_.refused, 1);
}

}  // namespace
}  // namespace commensal::provider::testing
