// SPDX-License-Identifier: Apache-2.0
// What providers say wrongly, and whom it costs what.
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/testing/dispatcher_fixture.hpp>

namespace commensal::gateway {
namespace {

using testing::DispatcherOf;

TEST_F(DispatcherOf, ACommitThatListsAJobTwiceSignsItOnceAndHurtsNoOther) {
  const protocol::Job other = ask(), job = ask();
  commit_of(stream_, {{commit(job, provider_key_), commit(job, provider_key_, core::Digest{4}),
                       commit(other, provider_key_)}});
  EXPECT_EQ(signed_jobs(), (Jobs{protocol::job_id(job), protocol::job_id(other)}));
  EXPECT_EQ(withdrawn(), Jobs{});
  deliver(job);
  EXPECT_EQ(answers_, std::vector<bool>{true}) << "the first word counts";
}

// The fault: each message had a signature and a write of its own.
TEST_F(DispatcherOf, CommitmentsOfSeveralProvidersAreSignedAndWrittenTogether) {
  const rpc::Commit mine{{commit(ask(), provider_key_)}};
  connect_other();
  ask();
  ASSERT_EQ(other_heard_->all<rpc::Offer>().size(), 1u);
  const protocol::Job other = other_heard_->all<rpc::Offer>()[0].job;
  steps_.on_commit(stream_, mine);
  steps_.on_commit(other_stream_, {{commit(other, other_key_)}});
  EXPECT_TRUE(heard_->all<rpc::Countersign>().empty());
  loop_.run_until_idle();
  ASSERT_EQ(heard_->all<rpc::Countersign>().size(), 1u);
  ASSERT_EQ(other_heard_->all<rpc::Countersign>().size(), 1u);
  const auto& one = heard_->all<rpc::Countersign>()[0].items.at(0).signature;
  EXPECT_EQ(one.signature,
            other_heard_->all<rpc::Countersign>()[0].items.at(0).signature.signature);
  EXPECT_EQ(one.count, 2u);
}

/// One that is lost before the loop goes round is not signed, and holds up no other.
TEST_F(DispatcherOf, WhatWasWithdrawnMeanwhileIsNotSigned) {
  const protocol::Job lost = ask();
  const rpc::Commit first{{commit(lost, provider_key_)}};
  const protocol::Job kept = ask();
  steps_.on_commit(stream_, first);
  steps_.on_commit(stream_, {{commit(kept, provider_key_)}});
  steps_.withdraw(protocol::job_id(lost));
  loop_.run_until_idle();
  EXPECT_EQ(signed_jobs(), Jobs{protocol::job_id(kept)});
}

TEST_F(DispatcherOf, ACommitmentThatIsNotSignedIsWithdrawn) {
  const protocol::Job good = ask(), bad = ask();
  commit_of(stream_, {{commit(bad, key_), commit(good, provider_key_)}});
  EXPECT_EQ(signed_jobs(), Jobs{protocol::job_id(good)});
  EXPECT_EQ(withdrawn(), Jobs{protocol::job_id(bad)});
  loop_.run_until_idle();
  EXPECT_EQ(answers_, std::vector<bool>{false});
}

TEST_F(DispatcherOf, AnAnswersJobNamesTheGatewaysOwnAuditorOnly) {
  const protocol::Job job = ask();
  EXPECT_EQ(job.kind, protocol::JobKind::kAnswer);
  EXPECT_EQ(job.auditors, protocol::AuditorClass::kOwnerList);
  EXPECT_EQ(job.auditor_list, std::vector{kAuditor});
}

// One account's flood: what the provider has no room for waits, and the other is next.
TEST_F(DispatcherOf, AccountsTakeTurnsWhereTheProviderIsBusy) {
  for (std::uint32_t i = 0; i < limits::kProviderJobsMax + 100; ++i) ask("greedy");
  const auto offers = [&] { return heard_->all<rpc::Offer>(); };
  ASSERT_EQ(offers().size(), limits::kProviderJobsMax);
  ask("modest");
  const float modest = inputs_[0].value.data<float>()[0];
  for (std::size_t i = 0; i < 2; ++i) {
    steps_.on_refuse(
        stream_, {protocol::job_id(offers()[i].job), {core::ErrorCode::kUnavailable, "not now"}});
  }
  loop_.run_until_idle();
  ASSERT_EQ(offers().size(), limits::kProviderJobsMax + 1);
  EXPECT_EQ(offers().back().inputs[0].value.data<float>()[0], modest);
}

// The fault: who asked next waited behind 64 jobs of the one who had asked first.
TEST_F(DispatcherOf, WhileOthersAskAnAccountHasFewJobsAtAProvider) {
  const auto offers = [&] { return heard_->all<rpc::Offer>().size(); };
  ask("modest");
  for (int i = 0; i < 100; ++i) ask("greedy");
  EXPECT_EQ(offers(), 1 + limits::kAccountJobsMax);
  ask("modest");
  EXPECT_EQ(offers(), 2 + limits::kAccountJobsMax) << "at once";
  clock_.advance_ms(limits::kOthersMs);
  ask("greedy");
  EXPECT_EQ(offers(), 3 + limits::kAccountJobsMax) << "alone again";
}

// The fault: who asked and left sent its provider an offer and a withdrawal each time.
TEST_F(DispatcherOf, WhoLeavesKeepsItsPlaceForAsLongAsItsJobWouldHaveTaken) {
  ask("modest");
  const auto offers = [&] { return heard_->all<rpc::Offer>().size(); };
  for (int i = 0; i < 100; ++i) {
    ask("greedy");
    dispatcher_.cancel(static_cast<OrderId>(asked_));
  }
  EXPECT_EQ(offers(), 1 + limits::kAccountJobsMax);
  loop_.advance_ms(1);
  ask("greedy");
  EXPECT_EQ(offers(), 2 + limits::kAccountJobsMax);
}

TEST_F(DispatcherOf, ASilenceEndsAJobAndSaysWhatWasWaitedFor) {
  ask();
  loop_.advance_ms(kSilenceMs - 1);
  EXPECT_EQ(answers_.size(), 0u);
  loop_.advance_ms(1);
  EXPECT_EQ(answers_, std::vector<bool>{false});
  EXPECT_EQ(why_,
            "'a/model' failed on 1 provider(s), the last one: no word within 1000 ms, while the "
            "fetching of the model and step 1 of 'a/model' was waited for");
}

// The fault: a first download, or a long batch, was taken for silence.
TEST_F(DispatcherOf, WhoSaysThatItIsAtWorkIsNotSilentButNotForEver) {
  ask();
  be_at_work(5'000);
  EXPECT_EQ(answers_.size(), 0u);
  be_at_work(10'000);
  EXPECT_EQ(answers_, std::vector<bool>{false}) << "nobody knows it";
}

TEST_F(DispatcherOf, OneAccountMayLetOnlySoManyWait) {
  constexpr std::size_t kRoom = limits::kProviderJobsMax + limits::kAccountRequestsWaitingMax;
  for (std::size_t i = 0; i < kRoom; ++i) ask("greedy");
  loop_.run_until_idle();
  EXPECT_EQ(answers_.size(), 0u);
  ask("greedy");
  loop_.run_until_idle();
  EXPECT_EQ(answers_, std::vector<bool>{false});
  ask("modest");
  loop_.run_until_idle();
  EXPECT_EQ(answers_.size(), 1u) << "there is room for others";
}

// What is delivered must be what was committed to, and of the model's names and types: else an
// answer of any size would be kept, paid for, and push others out.
TEST_F(DispatcherOf, AnAnswerOfOtherNamesOrTypesIsNone) {
  const std::vector<float> many(1000, 1);
  const std::vector<tensor::NamedTensors> wrong = {
      {},
      {{"y", tensor::Tensor::of<float>({1}, std::span(many.data(), 1))}},
      {{"x", tensor::Tensor::of<float>({1000}, std::span(many))}},
  };
  for (const tensor::NamedTensors& outputs : wrong) {
    const protocol::Job job = ask();
    inputs_ = outputs;
    commit_of(stream_, {{commit(job, provider_key_)}});
    steps_.on_deliver(stream_, {protocol::job_id(job), 1, kSalt, outputs});
    loop_.run_until_idle();
  }
  EXPECT_EQ(answers_, (std::vector<bool>{false, false, false}));
}

// The fault: the delivery that was on its way was dropped, and its ticket could never be opened.
TEST_F(DispatcherOf, WhatIsSignedIsNotTakenAway) {
  answer_some();
  connect_other();
  other_health().on_answer(1);
  const protocol::Job job = ask();
  loop_.advance_ms(500);
  commit_of(stream_, {{commit(job, provider_key_)}});
  loop_.advance_ms(700);  // longer than it has
  EXPECT_EQ(withdrawn(), Jobs{});
  deliver(job);
  EXPECT_EQ(answers_, std::vector<bool>{true});
}

// The fault: who was new could commit at once and deliver late, or never: ten seconds of a request.
TEST_F(DispatcherOf, WhoIsTriedOutAndSignsHasNoLongerForIt) {
  answer_some();
  connect_other();
  ask();
  const protocol::Job late = other_heard_->all<rpc::Offer>().at(0).job;  // the new one is tried
  commit_of(other_stream_, {{commit(late, other_key_)}});
  loop_.advance_ms(100);
  EXPECT_TRUE(other_heard_->all<rpc::Withdraw>().empty()) << "what is signed goes to its end";
  const protocol::Job job = heard_->all<rpc::Offer>().back().job;
  commit_of(stream_, {{commit(job, provider_key_)}});
  deliver(job);
  EXPECT_EQ(answers_, std::vector<bool>{true});
  steps_.on_deliver(other_stream_, {protocol::job_id(late), 1, kSalt, inputs_});
  loop_.run_until_idle();
  EXPECT_TRUE(made_.back()->order == kNobodysOrder && !made_.back()->is_charged);
}

// The fault: ten requests that take long, as their consumer wishes, had it avoided for 300 s.
TEST_F(DispatcherOf, WhoIsKnownIsNotBlamedForARequestThatTakesLong) {
  answer_some();
  connect_other();
  other_health().on_answer(1);
  ask();
  be_at_work(1'000);
  EXPECT_EQ(withdrawn().size(), 1u);
  EXPECT_EQ(other_heard_->all<rpc::Offer>().size(), 1u);
  EXPECT_EQ(health().faults_in_row(), 0u);
}

TEST_F(DispatcherOf, WhoIsTriedOutIsBlamedOnPublicModelsOnly) {
  answer_some();
  connect_other();
  for (const bool is_private : {true, false}) {
    is_private_ = is_private;
    ask();
    ASSERT_EQ(other_heard_->all<rpc::Offer>().size(), is_private ? 1u : 2u);
    loop_.advance_ms(100);
    EXPECT_EQ(other_heard_->all<rpc::Withdraw>().size(), is_private ? 1u : 2u);
    EXPECT_EQ(other_health().faults_in_row(), is_private ? 0u : 1u);
    const protocol::Job job = heard_->all<rpc::Offer>().back().job;
    commit_of(stream_, {{commit(job, provider_key_)}});
    deliver(job);
  }
}

// What is wrong with a private model was told to everybody, and a bad request was laid to whoever
// refused it.
TEST_F(DispatcherOf, EverybodyReadsOnlyWhyPublicWorkIsRefused) {
  const auto refuse = [&](core::ErrorCode code) {
    steps_.on_refuse(stream_, {protocol::job_id(ask()), {code, "node 'secret'"}});
    loop_.run_until_idle();
    return roster_.at(stream_)->refusals.why;
  };
  is_private_ = true;
  EXPECT_EQ(refuse(core::ErrorCode::kFailedPrecondition), "");
  is_private_ = false;
  EXPECT_EQ(refuse(core::ErrorCode::kInvalidArgument), "");
  EXPECT_EQ(refuse(core::ErrorCode::kFailedPrecondition), "node 'secret'");
}

// The fault: who has answered once, and then says that it is at work, had 20 minutes.
TEST_F(DispatcherOf, WhoMayHaveToLoadTheModelHasNotForEverWhereSomebodyIsAtHand) {
  health().on_answer(1);
  ask();
  connect_other();
  other_health().on_answer(1);
  be_at_work(99'500);
  EXPECT_EQ(other_heard_->all<rpc::Offer>().size(), 0u);
  be_at_work(500);
  EXPECT_EQ(other_heard_->all<rpc::Offer>().size(), 1u);
}

// However many come, or go on, at once: what somebody pausing has in hand moves in another turn.
TEST_F(DispatcherOf, ManyResumesMakeOneLook) {
  for (int i = 0; i < 6; ++i) ask();
  roster_.at(stream_)->paused = "for its host";
  roster_.at(stream_)->pauses = 1;
  connect_other();
  for (int i = 0; i < 1'000; ++i) dispatcher_.on_available();
  EXPECT_EQ(other_heard_->all<rpc::Offer>().size(), 0u);
  loop_.run_until_idle();
  EXPECT_TRUE(other_heard_->all<rpc::Offer>().size() == 6 && withdrawn().size() == 6) << "once";
  EXPECT_EQ(health().faults_in_row(), 1) << "not for each job";
}

}  // namespace
}  // namespace commensal::gateway
