// SPDX-License-Identifier: Apache-2.0
// What is measured of providers, and who gets a request by that.
#include <gtest/gtest.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/measured.hpp>
#include <commensal/serve/gateway/testing/dispatcher_fixture.hpp>

namespace commensal::gateway {
namespace {

TEST(Link, KnowsTheRoundTripAndThePaceOfWhatIsLargeAndFades) {
  Link link;
  EXPECT_EQ(link.ms_for(1 << 20, 0), 0);
  for (int i = 0; i < 20; ++i) link.on_delivery(i % 4 == 3 ? 90 : 30, 40, 0);
  EXPECT_NEAR(link.ms_for(0, 0), 25, 5) << "what is late now and then counts little";
  for (int i = 0; i < 20; ++i) link.on_delivery(130, 10'000'000, 0);
  EXPECT_NEAR(link.bytes_per_ms(), 100'000, 5'000);
  EXPECT_NEAR(link.ms_for(5'000'000, 0) - link.ms_for(0, 0), 50, 5);
  EXPECT_NEAR(link.ms_for(0, 120'000), 0.37 * link.ms_for(0, 0), 0.1);
  Link here;
  here.on_delivery(2, 40, 0);
  EXPECT_EQ(here.ms_for(40, 0), 0) << "too little to matter";
}

TEST(Speeds, AreOfOneModelEachAndFade) {
  Speeds speeds;
  const auto ms_of = [&](const char* model, std::uint64_t bytes = 4) {
    const Speeds::Known known = speeds.known(model, bytes, 1'000);
    EXPECT_EQ(known.weight, known.ms > 0 ? 1 : 0);
    return known.ms;
  };
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ms_of("a/slow:1"), 0) << "a few are needed";
    speeds.on_answer("a/slow:1", 99, 0, 4, 1'000);
    speeds.on_answer("a/fast:1", 9, 0, 4, 1'000);
  }
  EXPECT_EQ(ms_of("a/slow:1"), 100);
  EXPECT_EQ(ms_of("a/slow:1", 8), 200);
  EXPECT_EQ(ms_of("a/fast:1"), 10);
  EXPECT_EQ(ms_of("a/fast:2"), 0);
  EXPECT_NEAR(speeds.known("a/slow:1", 4, 121'000).weight, 0.37, 0.01);
  EXPECT_LT(speeds.known("a/slow:1", 4, 1'201'000).weight, 1e-4);
}

// The fault: people were shown what is added to each for the choice among providers.
TEST(Speeds, AreShownAsTheyWereMeasured) {
  Speeds speeds;
  EXPECT_FALSE(speeds.measured("a/quick:1"));
  for (int i = 0; i < 20; ++i) speeds.on_answer("a/quick:1", 0.2, 0, 4, 1'000);
  speeds.on_answer("a/slow:1", 90, 2, 4'000, 1'000);
  EXPECT_NEAR(speeds.measured("a/quick:1")->ms, 0.2, 1e-9);
  EXPECT_EQ(speeds.measured("a/quick:1")->answers, 20u);
  EXPECT_NEAR(speeds.measured("a/slow:1")->ms, 30, 1e-9) << "its share of three";
}

TEST(Speeds, AreThoseMeasuredLast) {
  Speeds speeds;
  for (std::size_t i = 0; i < 4 * limits::kSpeedsMax; ++i) {
    for (int k = 0; k < 4; ++k) {
      speeds.on_answer(fmt::format("a/{}:1", i), 9, 0, 4, static_cast<std::int64_t>(i));
    }
    EXPECT_LE(speeds.size(), limits::kSpeedsMax);
  }
  EXPECT_EQ(speeds.known("a/0:1", 4, 1'000).ms, 0);
  EXPECT_EQ(speeds.known(fmt::format("a/{}:1", 4 * limits::kSpeedsMax - 1), 4, 1'000).ms, 10);
}

class Ranks : public ::testing::Test {
 protected:
  double any(double least, double most) { return least + (most - least) * rng_.next_unit(); }
  Candidate some(std::uint8_t id) {
    Candidate one;
    one.address.bytes[0] = id;
    one.last_turn = static_cast<std::uint64_t>(any(0, 100));
    one.queued = static_cast<std::uint32_t>(any(0, 20));
    one.load_cost = any(0, 8);
    one.effort = any(0.5, 8);
    one.link_ms = any(0, 100);
    one.wrong_cost = any(0, 4);
    one.usual_ms = any(0, 1) < 0.2 ? 0 : usual_ms_;
    return one;
  }
  core::CounterRng rng_{31};
  const double usual_ms_ = 12;
};

TEST_F(Ranks, WhoIsWorseInAllIsNeverPreferred) {
  for (int i = 0; i < 20'000; ++i) {
    const Candidate good = some(1);
    Candidate bad = good;
    bad.address.bytes[0] = 0;
    bad.last_turn = 0;  // it is its turn, among equals
    bad.queued += 1 + 2 * good.queued;
    bad.load_cost = 1 + 2 * good.load_cost;
    bad.effort *= any(1.5, 4);
    bad.link_ms = 1 + good.link_ms * any(1.5, 4);
    bad.wrong_cost = good.wrong_cost * any(1, 4);
    std::vector<Candidate> list = {bad, good};
    ASSERT_EQ(*choose(list, "m"), 1u) << i;
    std::swap(list[0], list[1]);
    ASSERT_EQ(*choose(list, "m"), 0u) << i;
  }
}

// Each alone makes the wait longer, and none can make up for more than it is.
TEST_F(Ranks, EachMeasureCounts) {
  for (int i = 0; i < 20'000; ++i) {
    const Candidate one = some(1);
    const double wait = wait_of(one);
    for (int which = 0; which < 5; ++which) {
      Candidate other = one;
      if (which == 0) ++other.queued;
      if (which == 1) other.load_cost += 1;
      if (which == 2) other.effort *= 1.1;
      if (which == 3) other.link_ms += 1;
      if (which == 4) other.wrong_cost += 0.1;
      ASSERT_GT(wait_of(other), wait) << which;
    }
  }
}

/// Two providers that are known, of one model or another.
class Measured : public testing::DispatcherOf {
 protected:
  /// The one that the next request is offered to, which it answers after `ms` of computing and so
  /// long on the way; true: the first provider.
  bool answer(std::int64_t first_ms, std::int64_t other_ms, std::int64_t way_ms = 0) {
    const std::size_t before = heard_->all<rpc::Offer>().size();
    ask();
    const bool is_first = heard_->all<rpc::Offer>().size() > before;
    const protocol::Job job = (is_first ? heard_ : other_heard_)->all<rpc::Offer>().back().job;
    loop_.advance_ms(is_first ? first_ms : other_ms);
    commit_of(is_first ? stream_ : other_stream_,
              {{commit(job, is_first ? provider_key_ : other_key_)}});
    loop_.advance_ms(is_first ? way_ms : 0);
    steps_.on_deliver(is_first ? stream_ : other_stream_,
                      {protocol::job_id(job), 1, kSalt, inputs_});
    loop_.run_until_idle();
    return is_first;
  }
  int first_of(int requests, std::int64_t first_ms, std::int64_t other_ms,
               std::int64_t way_ms = 0) {
    int count = 0;
    for (int i = 0; i < requests; ++i) count += answer(first_ms, other_ms, way_ms) ? 1 : 0;
    return count;
  }
  void SetUp() override {
    DispatcherOf::SetUp();
    connect_other();
    health().on_answer(1);
    other_health().on_answer(1);
  }
};

TEST_F(Measured, WhoIsFasterWithAModelGetsItAndWhatTheOtherIsFasterWithStaysThere) {
  EXPECT_NEAR(first_of(40, 20, 20), 20, 8) << "equals share";
  first_of(40, 20, 100);
  EXPECT_GE(first_of(20, 20, 100), 19);
  model_ = "b/other";
  content_ = core::Digest{6};
  EXPECT_GE(first_of(20, 100, 20), 18) << "the other is slow, for all that is known";
  first_of(100, 100, 20);
  EXPECT_LE(first_of(20, 100, 20), 1);
  model_ = "a/model";
  content_ = core::Digest{5};
  EXPECT_GE(first_of(20, 20, 100), 19) << "as before";
}

TEST_F(Measured, WhoIsFarAwayGetsLessWhereTheWayCounts) {
  first_of(40, 20, 20, 200);
  EXPECT_LE(first_of(20, 20, 20, 200), 1);
}

}  // namespace
}  // namespace commensal::gateway
