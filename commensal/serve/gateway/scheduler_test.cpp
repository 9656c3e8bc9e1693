// SPDX-License-Identifier: Apache-2.0
// Who gets the next request, and what is remembered of who had one.
#include <gtest/gtest.h>

#include <commensal/serve/gateway/fair_queue.hpp>
#include <commensal/serve/gateway/health.hpp>
#include <commensal/serve/gateway/patience.hpp>
#include <commensal/serve/gateway/scheduler.hpp>
#include <commensal/serve/gateway/shares.hpp>

namespace commensal::gateway {
namespace {

Candidate candidate(std::uint8_t id) {
  Candidate one;
  one.address.bytes[0] = id;
  one.name = std::string(1, static_cast<char>('a' + id));
  return one;
}

TEST(Scheduler, EqualsShareAndTheShortestWaitIsFirst) {
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].last_turn = 5;
  list[1].last_turn = 4;
  EXPECT_EQ(choose(list, "m"), 1u) << "whose turn is longer ago";
  list[1].queued = 2;
  EXPECT_EQ(choose(list, "m"), 0u) << "a shorter queue";
  list[0].effort = 10;
  EXPECT_EQ(choose(list, "m"), 1u) << "a short queue of who takes ten times as long is no shorter";
  list[0].effort = 1.1;
  list[1].queued = 0;
  EXPECT_EQ(choose(list, "m"), 1u) << "nearly equal: by turns";
  list[1].excluded = "is banned";
  EXPECT_EQ(choose(list, "m"), 0u);
}

// The fault: a key that had just come had every turn among equals, until it had served as much.
TEST(Scheduler, ANewKeyGainsNothingAmongEquals) {
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].last_turn = 1000;
  std::array<int, 2> turns{};
  for (std::uint64_t i = 1; i <= 100; ++i) {
    const std::size_t chosen = *choose(list, "m");
    list[chosen].last_turn = 1000 + i;
    ++turns[chosen];
  }
  EXPECT_EQ(turns[0], 50);
}

TEST(Scheduler, WhoMayBeWrongCountsAsSlower) {
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].wrong_cost = 2.5;
  EXPECT_EQ(choose(list, "m"), 1u);
  list[1].queued = 1;
  EXPECT_EQ(choose(list, "m"), 1u);
  list[1].queued = 4;
  EXPECT_EQ(choose(list, "m"), 0u);
}

// The fault: who refuses everything at once has the shortest queue and has served least.
TEST(Scheduler, WhoHasServedLeastIsNotFirstForThatAlone) {
  Health refuser, honest;
  for (int i = 0; i < 40; ++i) {
    refuser.on_refusal();
    honest.on_answer(1);
  }
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].effort = refuser.effort();
  list[0].is_new = refuser.is_new();
  list[1].effort = honest.effort();
  list[1].last_turn = 40;
  list[1].queued = 6;
  EXPECT_EQ(choose(list, "m"), 1u);
  list[0].is_new = false;
  list[1].queued = 0;
  EXPECT_EQ(choose(list, "m"), 1u);
}

TEST(Scheduler, WhoIsNewIsTriedWhileThereIsABudgetOrTheOthersAreBusy) {
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].is_new = true;
  list[0].effort = Health().effort();
  list[1].last_turn = 100;
  EXPECT_EQ(choose(list, "m"), 1u);
  EXPECT_EQ(choose(list, "m", true), 0u);
  list[0].queued = 1;
  EXPECT_EQ(choose(list, "m", true), 1u) << "one job at a time";
  list[1].queued = 50;
  EXPECT_EQ(choose(list, "m"), 0u);
  list[1].excluded = "is not connected";
  EXPECT_EQ(choose(list, "m"), 0u) << "there is nobody else";
}

TEST(Scheduler, WhoIsAvoidedIsTheLastChoiceButOne) {
  std::vector<Candidate> list = {candidate(0), candidate(1), candidate(2)};
  list[0].avoided_until_ms = 900;
  list[1].avoided_until_ms = 500;
  list[2].queued = 60;
  EXPECT_EQ(choose(list, "m"), 2u);
  list[2].excluded = "was tried";
  EXPECT_EQ(choose(list, "m"), 1u) << "whose time is over first";
}

TEST(Health, FaultsInARowAreAvoidedTwiceAsLongAndAnAnswerEndsThat) {
  Health health;
  std::int64_t wait = Health::kAvoidedMsMin;
  for (int i = 0; i < 40; ++i) {
    health.on_fault(1'000);
    EXPECT_TRUE(health.is_avoided(1'000 + wait - 1));
    EXPECT_FALSE(health.is_avoided(1'000 + wait));
    wait = std::min(2 * wait, Health::kAvoidedMsMax);
  }
  health.on_answer(1);
  EXPECT_TRUE(health.is_avoided(1'000)) << "one answer, perhaps to itself, makes nothing good";
  for (int i = 0; i < 40; ++i) health.on_answer(1);
  health.on_fault(0);
  EXPECT_FALSE(health.is_avoided(Health::kAvoidedMsMin));
}

// A consumer can have anybody refuse, by what it asks for.
TEST(Health, RefusalsThatNobodyCanJudgeCountForLittle) {
  Health health;
  for (int i = 0; i < 20; ++i) health.on_answer(1);
  for (int i = 0; i < 1000; ++i) health.on_refusal();
  EXPECT_LE(health.effort(), 2);
  EXPECT_FALSE(health.is_avoided(0));
}

TEST(Health, EffortFollowsTheTimeAndTheShareOfAnswers) {
  Health usual, slow, half;
  for (int i = 0; i < 200; ++i) {
    usual.on_answer(1);
    slow.on_answer(3);
    half.on_answer(1);
    half.on_fault(0);
  }
  EXPECT_NEAR(usual.effort(), 1, 0.05);
  EXPECT_NEAR(slow.effort(), 3, 0.2);
  EXPECT_NEAR(half.effort(), 2, 0.2);
  for (int i = 0; i < 1000; ++i) half.on_answer(1e-9);
  EXPECT_GE(half.effort(), 0.5) << "who alone says what is usual gains little";
  for (int i = 0; i < 100; ++i) slow.on_answer(1);
  EXPECT_NEAR(slow.effort(), 1, 0.1) << "who mends is taken for mended";
}

TEST(Patience, IsAFewTimesWhatIsUsualAndLittleForWhoIsTriedOut) {
  Expected job{.usual_ms = 500, .ahead = 1, .faults = 0, .is_trial = false, .is_warm = true};
  EXPECT_EQ(patience_ms(job), 8'000);
  job.usual_ms = 1;
  EXPECT_EQ(patience_ms(job), 1'000);
  job.is_trial = true;
  job.is_warm = false;
  EXPECT_EQ(patience_ms(job), 14);
  job.faults = 3;
  EXPECT_EQ(patience_ms(job), 112) << "who is slow has its chance once";
  job.is_trial = false;
  job.model_bytes = 40'960'000;
  EXPECT_EQ(patience_ms(job), 30'016) << "it has to load the model";
  job.is_first = false;
  EXPECT_EQ(patience_ms(job), 30'016);
  job.usual_ms = 0;
  EXPECT_EQ(patience_ms(job), 110'000);
  job.usual_ms = 1;
  job.is_warm = true;
  EXPECT_EQ(patience_ms(job), std::nullopt) << "the second";
}

TEST(Patience, AnInputThatIsLargerMayTakeLonger) {
  UsualTime usual;
  EXPECT_EQ(usual.ms_for(100), 0);
  usual.slowness_of(49, 0, 100);
  EXPECT_EQ(usual.ms_for(10), 50);
  EXPECT_EQ(usual.ms_for(1'000), 500);
}

TEST(Pausing, IsTooOftenWhenItIsAllThatAProviderDoes) {
  Pausing host;
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(host.is_too_often(600 * i));
  Pausing flood;
  int often = 0;
  for (int i = 0; i < 1'000; ++i) often += flood.is_too_often(i) ? 1 : 0;
  EXPECT_NEAR(often, 1'000 - 32 - 2, 1);
}

TEST(Trials, AreFewWhereTheyFail) {
  const auto begun = [](Trials& trials, bool succeed, int answers = 10'000) {
    int count = 0;
    for (int i = 0; i < answers; ++i) {
      trials.on_answer();
      if (!trials.may_begin()) continue;
      ++count;
      trials.begin();
      trials.end();
      succeed ? trials.on_success() : trials.on_failure();
    }
    return count;
  };
  Trials bad, good, fresh;
  EXPECT_LT(begun(fresh, false, 1'000), 10) << "of a hundred requests one";
  EXPECT_LE(begun(bad, false), 25);
  EXPECT_NEAR(begun(good, true), 621, 5);
  EXPECT_GE(begun(bad, true), 400) << "better times";
  // Who succeeds now and then so that it may fail the more often.
  for (int every = 2; every <= 16; ++every) {
    Trials mixed;
    int failed = 0;
    for (int i = 0, tried = 0; i < 100'000; ++i) {
      mixed.on_answer();
      if (!mixed.may_begin()) continue;
      mixed.begin();
      mixed.end();
      const bool fails = ++tried % every == 0;
      failed += fails ? 1 : 0;
      fails ? mixed.on_failure() : mixed.on_success();
    }
    EXPECT_LT(failed, 600) << every;
  }
  Trials two;
  two.begin();
  two.begin();
  EXPECT_FALSE(two.may_begin()) << "at once";
}

Shares::Asker asker(const std::string& account, bool is_long, std::size_t providers,
                    std::size_t waiting = 0) {
  return {account, waiting, is_long, providers};
}

TEST(Shares, BindOnlyWhileOthersAsk) {
  Shares shares;
  const crypto::Address here{{1}}, there{{2}};
  for (int i = 0; i < 5; ++i) shares.on_offer("a", here, false);
  shares.on_request("a", 0);
  EXPECT_FALSE(shares.is_full(asker("a", false, 2), here, 1));
  shares.on_request("b", 1);
  EXPECT_TRUE(shares.is_full(asker("a", false, 2), here, 2));
  EXPECT_FALSE(shares.is_full(asker("a", false, 2), there, 2));
  EXPECT_FALSE(shares.is_full(asker("b", false, 2), here, 2));
  for (int i = 0; i < 4; ++i) shares.on_end("a", here, false);
  EXPECT_FALSE(shares.is_full(asker("a", false, 2), here, 2));
  EXPECT_TRUE(shares.is_full(asker("a", false, 2, 100), here, 2)) << "is in no hurry";
  shares.on_offer("a", here, false);
  shares.on_request("a", limits::kOthersMs);
  EXPECT_TRUE(shares.is_full(asker("a", false, 2), here, limits::kOthersMs));
  EXPECT_FALSE(shares.is_full(asker("a", false, 2), here, limits::kOthersMs + 1));
}

TEST(FairQueue, AccountsTakeTurnsHoweverMuchOneHas) {
  FairQueue<int> queue;
  for (int i = 0; i < 100; ++i) queue.push("greedy", i);
  queue.push("modest", 1000);
  queue.push("other", 2000);
  queue.push("modest", 1001);
  std::vector<int> order;
  for (int i = 0; i < 6; ++i) order.push_back(*queue.pop());
  EXPECT_EQ(order, (std::vector<int>{0, 1000, 2000, 1, 1001, 2}));
  EXPECT_EQ(queue.size(), 97u);
  EXPECT_EQ(queue.accounts(), 1u);
  EXPECT_EQ(queue.take([](int item) { return item == 50; }), 50);
  EXPECT_EQ(queue.take([](int item) { return item == 50; }), std::nullopt);
  EXPECT_EQ(queue.size_of("greedy"), 96u);
  while (queue.pop()) {
  }
  EXPECT_EQ(queue.accounts(), 0u);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(Shares, WhileOthersAskAnAccountHasLongJobsAtHalfOfTheProvidersOnly) {
  Shares shares;
  const crypto::Address here{{1}}, there{{2}}, elsewhere{{3}};
  shares.on_request("a", 0);
  shares.on_offer("a", here, true);
  EXPECT_TRUE(shares.has_long(here));
  EXPECT_FALSE(shares.has_long(there));
  EXPECT_FALSE(shares.is_full(asker("a", true, 2), there, 1)) << "nobody else asks";
  shares.on_request("b", 1);
  EXPECT_TRUE(shares.is_full(asker("a", true, 2), there, 2));
  EXPECT_TRUE(shares.is_full(asker("a", true, 3), there, 2));
  EXPECT_FALSE(shares.is_full(asker("a", true, 4), there, 2));
  EXPECT_FALSE(shares.is_full(asker("a", true, 2), here, 2)) << "behind its own";
  EXPECT_FALSE(shares.is_full(asker("a", false, 2), there, 2)) << "a short one";
  EXPECT_FALSE(shares.is_full(asker("b", true, 2), there, 2));
  shares.on_end("a", here, true);
  EXPECT_FALSE(shares.has_long(here));
  EXPECT_FALSE(shares.is_full(asker("a", true, 2), elsewhere, 2));
}

TEST(Scheduler, WhoIsHeldBySomethingLongIsTheLastOfThoseThatAreKnown) {
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].is_held = true;
  list[1].queued = 5;
  EXPECT_EQ(choose(list, "m"), 1u);
  EXPECT_FALSE(is_at_hand(list[0]));
  list[1].is_held = true;
  EXPECT_EQ(choose(list, "m"), 0u);
  EXPECT_TRUE(is_long(0));
  EXPECT_FALSE(is_long(3));
  EXPECT_TRUE(is_held_ms(60, 3));
  EXPECT_FALSE(is_held_ms(60, 100));
}

TEST(Scheduler, WhatIsShortWaitsForWhoIsQuickRatherThanBehindSomethingLong) {
  std::vector<Candidate> list = {candidate(0), candidate(1)};
  list[0].is_held = true;
  exclude_held(list);
  EXPECT_NE(list[0].excluded, "");
  EXPECT_TRUE(list[0].may_come);
  EXPECT_EQ(list[1].excluded, "");
  list = {candidate(0), candidate(1)};
  list[0].is_held = list[1].is_held = true;
  exclude_held(list);
  EXPECT_EQ(list[0].excluded, "") << "all of them are";
  list[1].is_held = false;
  list[1].is_new = true;
  exclude_held(list);
  EXPECT_EQ(list[0].excluded, "") << "who is new may be worse";
}

}  // namespace
}  // namespace commensal::gateway
