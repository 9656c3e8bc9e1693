// SPDX-License-Identifier: Apache-2.0
// Models that come before the requests for them.
#include <gmock/gmock.h>

#include <commensal/serve/gateway/prefetcher.hpp>
#include <commensal/serve/gateway/testing/crowd.hpp>

namespace commensal::gateway {
namespace {

TEST(DemandRate, IsOfTheLastSeconds) {
  DemandRate rate;
  EXPECT_EQ(rate.per_s(0), 0);
  for (std::int64_t ms = 0; ms < 30'000; ms += 50) rate.on_request(ms);
  EXPECT_NEAR(rate.per_s(30'000), 20, 1);
  EXPECT_LT(rate.per_s(60'000), 0.1);
}

TEST(ProvidersWanted, AreAsManyAsAreBusyTwiceOver) {
  EXPECT_EQ(providers_wanted(0.5, 10'000), 0u) << "seldom";
  EXPECT_EQ(providers_wanted(2, 0), 2u) << "one may leave";
  EXPECT_EQ(providers_wanted(100, 20), 4u);
  EXPECT_EQ(providers_wanted(1e300, 1e300), 1'000'000u);
}

class PrefetcherOf : public testing::CrowdOf {
 protected:
  void SetUp() override {
    CrowdOf::SetUp();
    model_bytes_ = kBytes;
  }
  /// Providers with room for so many models, of which the first has what is asked for.
  void open(std::size_t providers, std::size_t room) {
    for (std::size_t i = 0; i < providers; ++i) add(room);
    members_[0]->models = {content_};
    members_[0]->say_load();
  }
};

TEST_F(PrefetcherOf, WhatIsAskedForOftenIsFetchedAheadOnceAndOnlyAsFarAsItIsNeeded) {
  open(4, 2);
  ask_for(10'000, 0.5);
  EXPECT_EQ(prefetches(), 0) << "seldom";
  ask_for(10'000, 10);
  EXPECT_EQ(prefetches(), 1) << "two are enough";
  ask_for(10'000, 70);
  EXPECT_EQ(prefetches(), 2) << "three";
  for (const auto& member : members_) EXPECT_LE(member->prefetches, 1);
  end_all();
  EXPECT_EQ(fetches(), 0) << "no request waited for one";
}

TEST_F(PrefetcherOf, NobodyIsToldToFetchWhatItHasNoRoomForOrWhoHasNeverAnswered) {
  open(1, 1);
  Member& full = add(1);
  full.models = {core::Digest{9}};
  full.say_load();
  Member& fresh = add(2, false);
  knows_prefetch_ = false;
  Member& old = add(2);
  ask_for(5'000, 10);
  EXPECT_EQ(full.prefetches + fresh.prefetches + old.prefetches, 0);
}

TEST_F(PrefetcherOf, APrivateModelGoesToNobodyElse) {
  is_private_ = true;
  open(3, 2);
  allowed_ = {members_[0]->key.address(), members_[2]->key.address()};
  ask_for(5'000, 10);
  EXPECT_EQ(members_[1]->prefetches, 0);
  EXPECT_EQ(members_[2]->prefetches, 1);
}

TEST_F(PrefetcherOf, WhoDoesNotDoItIsNotToldAgainForAWhile) {
  open(1, 2);
  Member& idle = add(2);
  idle.is_deaf = true;
  ask_for(limits::kPrefetchAgainMs - 10'000, 2);
  EXPECT_EQ(idle.prefetches, 1);
  ask_for(25'000, 2);
  EXPECT_EQ(idle.prefetches, 2);
}

// Six providers, of which one has the model, and 40 requests a second from one moment on: with one
// seed, those before that know nothing of prefetches have requests wait for each fetch.
TEST_F(PrefetcherOf, WhereDemandJumpsFewerRequestsWaitForAFetch) {
  std::map<bool, std::int64_t> p99_ms;
  for (const bool knows : {false, true}) {
    for (const auto& member : members_) roster_.leave(member->stream);
    gone_ = std::exchange(members_, {});
    took_ms_.clear();
    content_[0] = knows ? 7 : 8;
    model_ = knows ? "a/new" : "a/old";
    asked_ms_.clear();
    knows_prefetch_ = knows;
    open(6, 2);
    const std::size_t before = counted_;
    ask_for(10'000, 40);  // and until they are answered
    for (int i = 0; i < 60'000 && counted_ < static_cast<std::size_t>(asked_); ++i) pass_ms();
    ASSERT_EQ(counted_ - before, 400u);
    p99_ms[knows] = percentile(0.99);
    fmt::print("{}: p50 {} ms, p99 {} ms, {} fetches, {} ahead\n", knows ? "with" : "without",
               percentile(0.5), percentile(0.99), fetches(), prefetches());
  }
  EXPECT_LT(4 * p99_ms[true], p99_ms[false]);
}

// Each has room for one of two models that are asked for by turns.
TEST_F(PrefetcherOf, TwoModelsByTurnsPushNobodyOut) {
  open(6, 1);
  members_[1]->models = {core::Digest{6}};
  members_[1]->say_load();
  for (int turn = 0; turn < 12; ++turn) {
    model_ = turn % 2 == 0 ? "a/model" : "b/other";
    content_ = core::Digest{static_cast<std::uint8_t>(turn % 2 == 0 ? 5 : 6)};
    ask_for(5'000, 40);
  }
  end_all();
  EXPECT_LE(fetches() + prefetches(), 6);
}

}  // namespace
}  // namespace commensal::gateway
